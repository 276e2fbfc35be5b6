// A recording of some namespaces says nothing of the others, nor of those that it might not read.
import { expect, test } from "vitest";
import { at, pod, request, service, slice, web1 } from "../../tests/blame/blame-world.ts";
import type { RawRecord } from "../kube/kinds/fields.ts";
import type { RecordedKindName } from "../recording/recorded-kinds.ts";
import { aliveLine, changeLine, listedLine, runLine } from "../recording/recording-line.ts";
import { Evidence } from "./evidence.ts";
import { judgeRequest } from "./judge-request.ts";
import { RecordingReader } from "./recording-reader.ts";
import { verdictSentences } from "./verdict-text.ts";

function run(seconds: number): string {
  return runLine({ atMs: at(seconds), run: `at ${seconds}` });
}

function found(seconds: number, kind: RecordedKindName, object: RawRecord): string {
  const common = { cluster: "prod", change: "added", by: "list", afterMs: undefined } as const;
  return changeLine({ ...common, atMs: at(seconds), kind, json: JSON.stringify(object) });
}

function listed(seconds: number, kind: RecordedKindName, namespace: string | undefined): string {
  return listedLine({ atMs: at(seconds), cluster: "prod", kind, namespace });
}

function alive(seconds: number): string {
  return aliveLine({ atMs: at(seconds), behind: [] });
}

function evidenceOf(lines: readonly string[]): Evidence {
  const evidence = new Evidence();
  const reader = new RecordingReader(evidence);
  for (const line of lines) reader.read(line);
  return evidence;
}

/** The verdict on a 503 of shop/web without a try. */
function verdictOn(lines: readonly string[]): readonly string[] {
  const entry = request(60, [], { status: 503 });
  const verdict = judgeRequest(entry, { evidence: evidenceOf(lines), skewMs: 0, file: "a.log" });
  return [`${verdict.confidence}: ${verdict.cause}`, ...verdictSentences(verdict)];
}

const other = [listed(10, "Pod", "other"), listed(10, "EndpointSlice", "other")];

test("nothing is certain of a service whose pods might not be read", () => {
  const lines = [run(9), found(10, "Service", service()), ...other, alive(600)];
  expect(verdictOn(lines)).toEqual([
    "cannot tell: unknown",
    "No endpoint was tried. shop/web: it was not recorded at that time.",
  ]);
  expect(verdictOn([...lines.slice(0, -1), listed(11, "Pod", undefined), alive(600)])[0]).toBe(
    "likely: no endpoints",
  );
});

test("nothing is certain of a service whose lists might not be read", () => {
  const lines = [run(9), found(10, "Service", service()), ...other, listed(11, "Pod", "shop")];
  expect(verdictOn([...lines, alive(600)])[0]).toBe("likely: no endpoints");
  expect(verdictOn([...lines, listed(11, "EndpointSlice", "shop"), alive(600)])[0]).toBe(
    "certain: no endpoints",
  );
});

test("each namespace is covered from its own list on", () => {
  const evidence = evidenceOf([run(9), ...other, listed(90, "Pod", "shop"), alive(600)]);
  const isCovered = (namespace: string, seconds: number): boolean =>
    evidence.isCovered({ cluster: "prod", namespace }, { fromMs: at(seconds), toMs: at(seconds) });
  expect([isCovered("other", 60), isCovered("shop", 60), isCovered("shop", 100)]).toEqual([
    true,
    false,
    true,
  ]);
  expect(isCovered("never", 100)).toBe(false);
});

test("what a later run finds in a namespace that was not recorded before may be of any age", () => {
  const later = [run(50), found(51, "EndpointSlice", slice([web1])), found(52, "Pod", pod())];
  const fromOf = (first: readonly string[]): number | undefined =>
    evidenceOf([...first, alive(20), ...later]).publications.ofAddress("10.0.0.1")[0]?.from.fromMs;
  expect(fromOf([run(9), ...other])).toBe(0);
  expect(fromOf([run(9), listed(10, "Pod", "shop")])).toBe(at(20));
  expect(fromOf([run(9), listed(10, "Pod", undefined)])).toBe(at(20));
});

test("what a list of all namespaces lacks went since its own was last recorded", () => {
  const lines = [
    run(1),
    found(2, "Pod", pod({ readySince: 2 })),
    listed(3, "Pod", "shop"),
    alive(20),
    run(30),
    listed(31, "Pod", "other"),
    alive(40),
    run(50),
    listed(51, "Pod", undefined),
  ];
  const gone = evidenceOf(lines).lives.byUid("uid-web-1")?.moments.at(-1);
  expect([gone?.what, gone?.at]).toEqual(["deleted", { fromMs: at(20), toMs: at(51) }]);
});
