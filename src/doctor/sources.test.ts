import { expect, test } from "vitest";
import { allCauses, diagnose } from "./diagnose.ts";
import { evidenceIn, noFacts } from "./evidence/evidence.ts";
import { TextReader } from "./evidence/text-reader.ts";

function unexaminedIn(source: string, ...lines: readonly string[]) {
  const facts = noFacts();
  const reader = new TextReader(facts, source);
  for (const line of lines) reader.push(line);
  reader.end();
  return diagnose(evidenceIn(facts)).unexamined;
}

function rulesIn(source: string, ...lines: readonly string[]): readonly string[] {
  return unexaminedIn(source, ...lines).flatMap(({ rules }) => rules);
}

const silentEtcd =
  "2021-03-04 10:00:00.000001 I | mvcc: finished scheduled compaction at 4711 (took 2.1ms)";

test("without evidence each cause is listed once, with how to provide it", () => {
  const unexamined = unexaminedIn("empty.txt");
  expect(unexamined.flatMap(({ rules }) => rules).sort()).toEqual(
    allCauses.map(({ name }) => name).sort(),
  );
  for (const { provide } of unexamined) expect(provide).not.toBe("");
});

test("a log without a known message is evidence for the causes that it could show", () => {
  expect(rulesIn("etcd.log", silentEtcd)).not.toContain("etcd-slow");
  expect(rulesIn("etcd.log", silentEtcd)).toContain("failing-probes");
  expect(rulesIn("other.log", silentEtcd)).toContain("etcd-slow");
});

test("an empty list is evidence, and a list of another kind is not", () => {
  const list = (kind: string) => ["{", ` "kind": "${kind}",`, ' "items": []', "}"];
  expect(rulesIn("a.json", ...list("IngressList"))).not.toContain("empty-ingress-status");
  expect(rulesIn("a.json", ...list("NodeList"))).toContain("empty-ingress-status");
});

test("an access log without a failed request is evidence", () => {
  const request = '10.4.0.9 - - [18/Nov/2026:10:00:04 +0000] "GET / HTTP/1.1" 200 512 "-" "curl"';
  expect(rulesIn("access.log", request)).not.toContain("dead-endpoints");
});

test("a cause that is found or open is not listed", () => {
  const reset =
    'W0511 12:16:10.055669   12085 mastercount.go:135] Resetting endpoints for master service "kubernetes" to x';
  expect(rulesIn("a.txt", reset)).not.toContain("apiserver-fight");
});
