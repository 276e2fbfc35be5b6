import { expect, test } from "vitest";
import { diagnose } from "../diagnose.ts";
import { evidenceIn, noFacts } from "../evidence/evidence.ts";
import { observationKind } from "../evidence/observations.ts";
import { TextReader } from "../evidence/text-reader.ts";

const place = { source: "observed.json", line: 0 };

/** Not ready three times, and one heartbeat after 50 s in the samples. */
function findingsWith(last: { readonly restarted?: readonly string[] }): readonly string[] {
  const facts = noFacts();
  const reader = new TextReader(facts, "events.txt");
  for (const minute of [10, 25, 40]) {
    reader.push(`2026-03-01T10:${minute}:00Z Node n-1 status is now: NodeNotReady`);
  }
  reader.end();
  for (const [observedAt, heartbeat] of [
    ["2026-03-01T10:40:00Z", "2026-03-01T10:39:20Z"],
    ["2026-03-01T10:40:12Z", "2026-03-01T10:40:10Z"],
  ] as const) {
    const heartbeats = { "n-1": heartbeat };
    facts.objects.add({ kind: observationKind, observedAt, heartbeats, locks: [] }, place);
  }
  const observedAt = "2026-03-01T10:40:20Z";
  facts.objects.add(
    { kind: observationKind, observedAt, heartbeats: {}, locks: [], ...last },
    place,
  );
  return diagnose(evidenceIn(facts)).findings.map(({ rule }) => rule);
}

test("a node that becomes not ready again and again is late", () => {
  expect(findingsWith({})).toEqual(["late-heartbeats"]);
});

test("a node whose containers have started again was restarted", () => {
  expect(findingsWith({ restarted: ["n-1"] })).toEqual([]);
  expect(findingsWith({ restarted: ["n-2"] })).toEqual(["late-heartbeats"]);
});
