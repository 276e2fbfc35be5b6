// JSON merge patches, with the examples of the RFC, and strategic merge patches.
import { describe, expect, test } from "vitest";
import { applyMergePatch } from "./merge-patch.ts";
import { StrategicPatchError } from "./patch-meta.ts";
import { applyStrategicMergePatch } from "./strategic-merge-patch.ts";

describe("a merge patch", () => {
  // The examples of RFC 7396, appendix A.
  const cases: readonly [document: unknown, patch: unknown, expected: unknown][] = [
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b" }, { a: null }, {}],
    [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }],
    [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    // Not in the RFC.
    [{ a: [] }, { a: [{ b: null, c: [{ d: null }] }, null] }, { a: [{ c: [{}] }, null] }],
    [
      ["a", "b"],
      ["c", "d"],
      ["c", "d"],
    ],
    [{ a: "b" }, ["c"], ["c"]],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ];
  test.each(cases)("turns %j with %j into %j", (document, patch, expected) => {
    expect(applyMergePatch(document, patch)).toEqual(expected);
  });
});

describe("a strategic merge patch", () => {
  const deployment = {
    metadata: { labels: { a: "b" }, finalizers: ["x", "y"] },
    spec: {
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1 } },
      template: {
        spec: {
          containers: [
            { name: "web", image: "nginx:1", args: ["a", "b"] },
            { name: "log", image: "fluent" },
          ],
        },
      },
    },
  };
  const podSpec = (patch: object) => ({ spec: { template: { spec: patch } } });
  const withPodSpec = (spec: object) => ({
    ...deployment,
    spec: { ...deployment.spec, template: { spec } },
  });
  const apply = (patch: unknown) =>
    applyStrategicMergePatch("apps.v1.Deployment", deployment, patch);

  test("merges lists by their key and replaces lists without one", () => {
    const containers = [
      { name: "web", args: ["c"] },
      { name: "new", image: "i" },
    ];
    expect(apply(podSpec({ containers }))).toEqual(
      withPodSpec({
        containers: [
          { name: "web", image: "nginx:1", args: ["c"] },
          { name: "new", image: "i" },
          { name: "log", image: "fluent" },
        ],
      }),
    );
  });

  test("deletes, orders and replaces with directives", () => {
    expect(
      apply(
        podSpec({
          "$setElementOrder/containers": [{ name: "new" }, { name: "log" }],
          containers: [
            { $patch: "delete", name: "web" },
            { name: "new", image: "i" },
          ],
        }),
      ),
    ).toEqual(
      withPodSpec({
        containers: [
          { name: "new", image: "i" },
          { name: "log", image: "fluent" },
        ],
      }),
    );
    const whole = [{ $patch: "replace" }, { name: "only", image: "i" }];
    expect(apply(podSpec({ containers: whole }))).toEqual(
      withPodSpec({ containers: [{ name: "only", image: "i" }] }),
    );
  });

  test("keeps only the retained keys, and merges lists of scalars", () => {
    const strategy = { $retainKeys: ["type"], type: "Recreate" };
    const metadata = { finalizers: ["z"], "$deleteFromPrimitiveList/finalizers": ["x"] };
    expect(apply({ metadata, spec: { strategy } })).toEqual({
      metadata: { labels: { a: "b" }, finalizers: ["z", "y"] },
      spec: { ...deployment.spec, strategy: { type: "Recreate" } },
    });
  });

  test("removes null fields", () => {
    expect(apply({ metadata: null })).toEqual({ spec: deployment.spec });
  });

  test("refuses an element without its key and an unknown directive", () => {
    expect(() => apply(podSpec({ containers: [{ image: "i" }] }))).toThrow(
      new StrategicPatchError(500, "map: map[image:i] does not contain declared merge key: name"),
    );
    expect(() => apply({ $patch: "explode" })).toThrow(
      new StrategicPatchError(500, "unknown patch type: explode in map: map[$patch:explode]"),
    );
  });
});
