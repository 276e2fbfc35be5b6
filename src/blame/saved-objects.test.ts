import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { at, node, pod, request, slice, time } from "../../tests/blame/blame-world.ts";
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

function asText(value: object | string): string {
  return typeof value === "string" ? value : JSON.stringify(value, undefined, 4);
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
        "10.0.0.1:8080 was pod shop/web-1 in prod on node-1. Pod deletion requested at 12:01:40 (49.5 s before the request). Container ended at 12:01:41. The service's endpoints in prod still listed it 49.5 s later.",
      ]
    `);
    expect(judged(evidence, 50)).toMatchInlineSnapshot(`
      [
        "likely: application",
        "10.0.0.1:8080 was pod shop/web-1 in prod on node-1. It was ready, and refused or closed the connection after 1 ms.",
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
        "10.0.0.1:8080 was pod shop/web-1 in prod. Pod deletion requested at 12:01:40 (49.5 s before the request). Pod deleted at 12:01:40–12:03:20. The service's endpoints in prod still listed it 49.5 s later.",
      ]
    `);
  });

  test("say nothing of a pod that nothing names any more, nor of what came later", () => {
    const other = pod({ name: "web-2", ip: "10.0.0.2", readySince: 10 });
    const evidence = evidenceOf(list("Pod", other), list("Node", node("True", 0, 200)));
    expect(judged(evidence, 150)).toMatchInlineSnapshot(`
      [
        "cannot tell: unknown",
        "10.0.0.1:8080: unknown. No pod saved from prod has this address; it was probably deleted before you saved the objects. Use lockstep record next time.",
      ]
    `);
    expect(judged(evidenceOf(...saved), 900)).toMatchInlineSnapshot(`
      [
        "cannot tell: unknown",
        "10.0.0.1:8080 was pod shop/web-1 in prod on node-1. The data of prod ends 11 min 40 s before the request.",
      ]
    `);
  });
});

describe("events that were saved", () => {
  const names = { reason: "Killing", type: "Normal" };
  const older = { ...names, involvedObject: { uid: "uid-web-1" }, lastTimestamp: time(100) };
  const newer = { ...names, regarding: { uid: "uid-web-1" }, deprecatedLastTimestamp: time(100) };
  const other = pod({ name: "web-2", ip: "10.0.0.2", readySince: 10 });
  const now = list("Node", node("True", 0, 200));

  test.each([older, newer])(
    "say when a pod was asked to terminate, in each of their groups",
    (event) => {
      const saved = new SavedObjects("prod");
      saved.read(JSON.stringify(list("Pod", pod({ readySince: 10 }), other)));
      saved.beginSet();
      for (const one of [list("Pod", other), now, list("Event", event)]) {
        saved.read(JSON.stringify(one));
      }
      expect(saved.counts.killed).toBe(1);
      const evidence = new Evidence();
      saved.addTo(evidence);
      expect(judged(evidence, 150)[0]).toBe("certain: stale");
      expect(judged(evidence, 90)[0]).toBe("likely: application");
    },
  );

  test("of a restart say nothing of the pod", () => {
    const saved = new SavedObjects("prod");
    const note = "Container web failed liveness probe, will be restarted";
    saved.read(JSON.stringify(list("Event", { ...older, message: note }, { ...newer, note })));
    expect(saved.counts.killed).toBe(0);
  });
});

describe("objects that were saved more than once", () => {
  const web2 = { ip: "10.0.0.2", uid: "uid-web-2", name: "web-2" };
  const other = pod({ name: "web-2", ip: "10.0.0.2", readySince: 10 });
  const before = mixed(
    ["Pod", pod({ readySince: 10 })],
    ["Pod", other],
    ["EndpointSlice", slice([web1, web2])],
    ["Node", node("True", 0, 90)],
  );
  const after = mixed(
    ["Pod", other],
    ["EndpointSlice", slice([web2])],
    ["Node", node("True", 0, 200)],
    ["Event", killing("uid-web-1", 100)],
  );

  test("tell that a pod went in between, whichever is read first, and never for certain", () => {
    const first = judged(evidenceOf(before, after), 150);
    expect(first).toMatchInlineSnapshot(`
      [
        "likely: published late",
        "10.0.0.1:8080 was pod shop/web-1 in prod on node-1. Pod deletion requested at 12:01:40 (49.5 s before the request). Pod deleted at 12:01:40–12:03:20. The service's endpoints in prod still listed it 49.5 s later, until at most 1 min 40 s after the change. The cause may also be routed late: the times are too coarse to decide.",
      ]
    `);
    expect(judged(evidenceOf(after, before), 150)).toEqual(first);
    expect(judged(evidenceOf(before, after), 95)[0]).toBe("likely: application");
    const answered = request(150, [{ address: "10.0.0.2", answered: true, status: 503 }]);
    const options = { evidence: evidenceOf(before, after), skewMs: 0, file: "a.log" };
    expect(judgeRequest(answered, options).cause).toBe("application");
  });

  test("of a few pods in between mark no pod as deleted that is there afterwards", () => {
    const again = pod({ name: "web-2", ip: "10.0.0.2", readySince: 120 });
    const few = list("Pod", again);
    expect(judged(evidenceOf(before, few), 110)[0]).toBe("likely: published late");
    const all = mixed(["Pod", pod({ readySince: 10 })], ["Pod", again]);
    const later = mixed(["Node", node("True", 0, 200)], ["Pod", pod({ readySince: 10 })]);
    expect(judged(evidenceOf(before, few, all, later), 150)[0]).toBe("likely: application");
  });

  test("have events of a pod's containers, of which only the last may be its end", () => {
    const made = { ...killing("uid-web-1", 100), lastTimestamp: time(140) };
    const evidence = evidenceOf(before, mixed(["Event", made], ["Pod", other]), after);
    expect([judged(evidence, 120)[0], judged(evidence, 95)[0]]).toEqual([
      "likely: published late",
      "likely: application",
    ]);
    const earlier = mixed(["Event", killing("uid-web-1", 50)], ["Pod", other]);
    expect(judged(evidenceOf(before, earlier), 80)[0]).toBe("likely: application");
  });

  test("by kubectl's watch tell of every change, though not when a list changed", () => {
    const versions: readonly (readonly [string, object])[] = [
      ["ADDED", { kind: "Pod", ...pod({ readySince: 10 }) }],
      ["ADDED", { kind: "EndpointSlice", ...slice([web1]) }],
      ["MODIFIED", { kind: "Pod", ...pod({ readySince: 10, deleted: 100 }) }],
      ["DELETED", { kind: "Pod", ...pod({ unreadySince: 101, deleted: 100, endedAt: 101 }) }],
      ["MODIFIED", { kind: "EndpointSlice", ...slice([]) }],
      ["ADDED", { kind: "Pod", ...pod({ name: "web-3", created: 300 }) }],
    ];
    const text = versions.map(([type, object]) => JSON.stringify({ type, object }, null, 4));
    const saved = new SavedObjects("prod");
    expect(saved.read(`${text.join("\n")}\n{"type":"MODIFIED","object":{"kind":"Pod","meta`)).toBe(
      6,
    );
    const evidence = new Evidence();
    saved.addTo(evidence);
    expect(judged(evidence, 150)).toMatchInlineSnapshot(`
      [
        "likely: published late",
        "10.0.0.1:8080 was pod shop/web-1 in prod on node-1. Pod deletion requested at 12:01:40 (49.5 s before the request). Container ended at 12:01:41. The service's endpoints in prod still listed it 49.5 s later, until at most 3 min 20 s after the change. The cause may also be routed late: the times are too coarse to decide.",
      ]
    `);
    expect(judged(evidence, 90)[0]).toBe("likely: application");
    const apart = new SavedObjects("prod");
    for (const kind of ["Pod", "EndpointSlice"]) {
      apart.read(text.filter((one) => one.includes(`"kind": "${kind}"`)).join("\n"));
    }
    const both = new Evidence();
    apart.addTo(both);
    expect(judged(both, 150)).toEqual(judged(evidence, 150));
  });

  test("by an audit log tell when each was written, where it has the objects", () => {
    const line = (seconds: number, verb: string, kind: string, object: object) => ({
      kind: "Event",
      apiVersion: "audit.k8s.io/v1",
      stage: "ResponseComplete",
      verb,
      stageTimestamp: new Date(at(seconds)).toISOString(),
      responseStatus: { code: 200 },
      responseObject: { kind, ...object },
    });
    const lines = [
      line(10.5, "patch", "Pod", pod({ readySince: 10 })),
      line(10.6, "update", "EndpointSlice", slice([web1])),
      line(100.2, "delete", "Pod", pod({ readySince: 10, deleted: 100 })),
      line(101.4, "patch", "Pod", pod({ unreadySince: 101, deleted: 100, endedAt: 101 })),
      line(130, "update", "EndpointSlice", slice([])),
      { ...line(131, "patch", "Pod", {}), responseObject: undefined },
    ];
    const saved = new SavedObjects("prod");
    expect(saved.read(lines.map((one) => JSON.stringify(one)).join("\n"))).toBe(5);
    expect(saved.counts).toEqual({ objects: 5, withoutObject: 1, killed: 0, broken: 0 });
    const evidence = new Evidence();
    saved.addTo(evidence);
    const based = { requestObject: { metadata: { resourceVersion: "missing here" } } };
    const partial = lines.map((one, index) => (index === 4 ? { ...one, ...based } : one));
    const other = new SavedObjects("prod");
    other.read(partial.map((one) => JSON.stringify(one)).join("\n"));
    const part = new Evidence();
    other.addTo(part);
    expect(judged(part, 120)[0]).toBe("likely: published late");
    expect(judged(evidence, 120)).toMatchInlineSnapshot(`
      [
        "certain: published late",
        "10.0.0.1:8080 was pod shop/web-1 in prod on node-1. Pod deletion requested at 12:01:40.200 (19.9 s before the request). Container ended at 12:01:41.400. The service's endpoints in prod still listed it 19.9 s later, until 29.9 s after the change.",
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
    expect(saved.counts).toEqual({ objects: 3, withoutObject: 0, killed: 0, broken: 0 });
  });

  test("may hold anything: what is not an object is none, and harms no other", () => {
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

  test("may break off in the middle of a list: complete objects count, and no pod counts as missing", () => {
    const saved = new SavedObjects("prod");
    const before = list("Pod", pod({ readySince: 10 }), pod({ name: "web-2", readySince: 10 }));
    saved.read(JSON.stringify(before));
    saved.beginSet();
    const after = mixed(["Pod", pod({ name: "web-3", readySince: 90 })], ["Pod", pod()]);
    expect(saved.read(JSON.stringify(after, undefined, 4).slice(0, -200))).toBe(1);
    expect(saved.counts).toEqual({ objects: 3, withoutObject: 0, killed: 0, broken: 1 });
    const evidence = new Evidence();
    saved.addTo(evidence);
    expect(evidence.lives.isGone("uid-web-2")).toBe(false);
  });

  test("may be a dump in one file, with the logs of pods between the objects", () => {
    const saved = new SavedObjects("prod");
    const log = 'a "quote\n}}} {"kind":"Pod"\n';
    const logs = `==== START logs for container a of pod b ====\n${log}==== END logs for container a of pod b ====`;
    const [pods, nodes] = [list("Pod", pod()), list("Node", node("True", 0, 0))];
    expect(saved.read([pods, logs, nodes].map(asText).join("\n"))).toBe(2);
  });

  test("may have no time in them", () => {
    const { uid, name } = web1;
    const objects = mixed(
      ["Pod", { metadata: { uid, name, namespace: "shop" }, status: { podIP: web1.ip } }],
      ["EndpointSlice", slice([web1, { ...web1, ip: "10.0.0.2", uid: "gone" }])],
    );
    expect(judged(evidenceOf(objects), 150)).toEqual([
      "cannot tell: unknown",
      "10.0.0.1:8080 was pod shop/web-1 in prod. No object of prod contains the time.",
    ]);
  });

  test("were saved when the newest time in them had come, whenever deletions are due", () => {
    const evidence = evidenceOf(list("Pod", pod({ readySince: 10, deleted: 95 })));
    expect(evidence.knownUntilMs({ cluster: "prod", namespace: "shop" })).toBe(at(10));
  });
});
