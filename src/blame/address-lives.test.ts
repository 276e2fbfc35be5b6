import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { at, pod } from "../../tests/blame/blame-world.ts";
import { selects } from "../sources/service-pods.ts";
import { Evidence } from "./evidence.ts";

const seen = { atMs: at(1), isWatched: true, afterMs: undefined };

function see(
  evidence: Evidence,
  name: string,
  labels: Readonly<Record<string, string>>,
  cluster = "prod",
): void {
  const object = pod({ name, uid: `${cluster} ${name}`, labels });
  evidence.add({ cluster, kind: "Pod", isDeleted: false, object, seen });
}

function selected(
  evidence: Evidence,
  selector: Readonly<Record<string, string>>,
  namespace = "shop",
): readonly string[] {
  const found = evidence.lives.selected({ cluster: "prod", namespace }, selector);
  return found.map(({ facts }) => facts.name);
}

describe("the pods that a selector selects", () => {
  test("are those of its place that have all of its labels, as they are at last", () => {
    const evidence = new Evidence();
    see(evidence, "one", { app: "web", tier: "front" });
    see(evidence, "two", { app: "web" });
    see(evidence, "far", { app: "web" }, "west");
    expect(selected(evidence, { app: "web" })).toEqual(["one", "two"]);
    expect(selected(evidence, { app: "web", tier: "front" })).toEqual(["one"]);
    expect(selected(evidence, {})).toEqual(["one", "two"]);
    expect(selected(evidence, { app: "web" }, "other")).toEqual([]);
    see(evidence, "two", { app: "web", tier: "front" });
    see(evidence, "three", { app: "web", tier: "front" });
    expect(selected(evidence, { app: "web", tier: "front" })).toEqual(["one", "two", "three"]);
  });

  test("are none of those that had to be forgotten", () => {
    const evidence = new Evidence({ livesMax: 2 });
    for (const name of ["one", "two"]) see(evidence, name, { app: "web" });
    expect(selected(evidence, { app: "web" })).toEqual(["one", "two"]);
    for (const name of ["three", "four", "five"]) see(evidence, name, { app: "web" });
    expect(selected(evidence, { app: "web" })).toEqual(["four", "five"]);
    expect([evidence.lives.size, evidence.lives.dropped]).toEqual([2, 3]);
  });

  test("are the same as by a look at every one of them", () => {
    const name = fc.constantFrom("a", "b", "c");
    const labels = fc.dictionary(name, fc.constantFrom("1", "2"));
    fc.assert(
      fc.property(fc.array(labels, { maxLength: 12 }), labels, (pods, selector) => {
        const evidence = new Evidence();
        for (const [index, one] of pods.entries()) see(evidence, `web-${index}`, one);
        const expected = pods.flatMap((one, index) =>
          selects(selector, one) ? [`web-${index}`] : [],
        );
        expect(selected(evidence, selector)).toEqual(expected);
      }),
    );
  });
});
