import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { at, node, pod, request, slice, time } from "./blame-world.contract.ts";
import { Evidence } from "./evidence.ts";
import { judgeRequest } from "./judge-request.ts";
import { SavedObjects } from "./saved-objects.ts";
import { verdictSentences } from "./verdict-text.ts";

const web1 = { ip: "10.0.0.1", uid: "uid-web-1", name: "web-1" };

function list(kind: string, ...items: readonly object[]): object {
  return { apiVersion: "v1", kind: `${kind}List`, items };
}

/** As `kubectl get a,b -o json` has them: each item says what it is. */
function mixed(...items: readonly (readonly [kind: string, object: object])[]): object {
  return { kind: "List", items: items.map(([kind, object]) => ({ kind, ...object })) };
}

function killing(uid: string, seconds: number): object {
  return { reason: "Killing", involvedObject: { uid }, firstTimestamp: time(seconds) };
}

function evidenceOf(...documents: readonly object[]): Evidence {
  const saved = new SavedObjects("prod");
  for (const document of documents) saved.read(JSON.stringify(document));
  const evidence = new Evidence();
  saved.addTo(evidence);
  return evidence;
}

function judged(evidence: Evidence, seconds: number): readonly string[] {
  const entry = request(seconds, [{}]);
  const verdict = judgeRequest(entry, { evidence, skewMs: 0, file: "a.log" });
  return [`${verdict.confidence}: ${verdict.cause}`, ...verdictSentences(verdict)];
}

describe("objects that were saved once", () => {
  const terminating = pod({ readySince: 10, deleted: 100, endedAt: 101 });
  const saved = [list("Pod", terminating), list("Node", node("True", 0, 200))];

  test("tell of a pod that was still there when it had ended", () => {
    const evidence = evidenceOf(...saved, list("EndpointSlice", slice([web1])));
    expect(judged(evidence, 150)).toMatchInlineSnapshot(`
      [
        "certain: published late",
        "10.0.0.1:8080 was pod shop/web-1 in prod on node-1; was asked to end 49.5 s before, at 12:01:40, and its container ended at 12:01:41; published in prod late by 49.5 s: still listed.",
      ]
    `);
    expect(judged(evidence, 50)).toMatchInlineSnapshot(`
      [
        "likely: application",
        "10.0.0.1:8080 was pod shop/web-1 in prod on node-1; it was ready, and refused or broke off after 1 ms.",
      ]
    `);
  });

  test("tell of a pod that was gone when a list still named it, and by an event since when", () => {
    const other = pod({ name: "web-2", ip: "10.0.0.2", readySince: 10 });
    const objects = mixed(
      ["Pod", other],
      ["EndpointSlice", slice([web1])],
      ["Event", killing("uid-web-1", 100)],
      ["Node", node("True", 0, 200)],
    );
    expect(judged(evidenceOf(objects), 150)).toMatchInlineSnapshot(`
      [
        "certain: published late",
        "10.0.0.1:8080 was pod shop/web-1 in prod; was deleted 50 s before, at 12:01:40.000; published in prod late by 50 s: still listed.",
      ]
    `);
  });

  test("say nothing of a pod that nothing names any more, nor of what came later", () => {
    const other = pod({ name: "web-2", ip: "10.0.0.2", readySince: 10 });
    const evidence = evidenceOf(list("Pod", other), list("Node", node("True", 0, 200)));
    expect(judged(evidence, 150)).toMatchInlineSnapshot(`
      [
        "cannot tell: unknown",
        "10.0.0.1:8080 cannot be told: no pod saved from prod has it: it was gone when they were saved.",
      ]
    `);
    expect(judged(evidenceOf(...saved), 900)).toMatchInlineSnapshot(`
      [
        "cannot tell: unknown",
        "10.0.0.1:8080 was pod shop/web-1 in prod on node-1; what is known of prod ends 11 min 40 s before the request.",
      ]
    `);
  });
});

describe("the files", () => {
  test("may be JSON or YAML, lists or single objects", () => {
    const saved = new SavedObjects("prod");
    const single = { kind: "Pod", ...pod({ name: "web-3" }) };
    expect(saved.read(stringify(list("Pod", pod({ name: "web-2" }))))).toBe(1);
    expect(saved.read(`${stringify(single)}---\n${stringify({ kind: "Secret" })}`)).toBe(1);
    expect(saved.read(JSON.stringify(single))).toBe(1);
    expect(saved.read("a: [")).toBeUndefined();
    expect(saved.read("only words")).toBe(0);
    expect(saved.size).toBe(3);
  });

  test("may hold anything: what is no object is none, and harms no other", () => {
    const saved = new SavedObjects("prod");
    const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
    const odd = JSON.stringify({ kind: "Pod", ...pod({ name: "web-2" }) });
    expect(saved.read(odd.replace(/}$/, `,"x":${deep(50_000)}}`))).toBe(1);
    expect(saved.read(`${'{"items":['.repeat(30_000)}${"]}".repeat(30_000)}`)).toBe(0);
    const wide = { kind: "Service", ...pod({ name: "web-4" }), x: Array(300_000).fill(1) };
    expect(saved.read(JSON.stringify(wide))).toBe(1);
    const laughs = Array.from({ length: 8 }, (_, level) => {
      const nine = Array(9).fill(`*a${level}`).join(", ");
      return `a${level + 1}: &a${level + 1} [${nine}]`;
    });
    expect(saved.read(["a0: &a0 [x]", ...laughs].join("\n"))).toBeUndefined();
    saved.addTo(new Evidence());
  });

  test("may have no time in them", () => {
    const { uid, name } = web1;
    const objects = mixed(
      ["Pod", { metadata: { uid, name, namespace: "shop" }, status: { podIP: web1.ip } }],
      ["EndpointSlice", slice([web1, { ...web1, ip: "10.0.0.2", uid: "gone" }])],
    );
    expect(judged(evidenceOf(objects), 150)).toEqual([
      "cannot tell: unknown",
      "10.0.0.1:8080 was pod shop/web-1 in prod; no object of prod says when it was so.",
    ]);
  });

  test("were saved when the newest time in them had come, whenever deletions are due", () => {
    const evidence = evidenceOf(list("Pod", pod({ readySince: 10, deleted: 95 })));
    expect(evidence.knownUntilMs("prod")).toBe(at(10));
  });
});
