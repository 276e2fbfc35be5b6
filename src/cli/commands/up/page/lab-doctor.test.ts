import { expect, test } from "vitest";
import type { Finding } from "../../../../doctor/finding.ts";
import type { MonotonicMs, WallMs } from "../../../../environment/clock.ts";
import { LabDoctor } from "./lab-doctor.ts";

const finding: Finding = {
  rule: "client-throttling",
  severity: "critical",
  confidence: "likely: one source",
  hop: "published",
  cause: "The controller manager may send 20 requests a second.",
  evidence: [{ text: "40 requests waited", source: "kube-controller-manager.log:38" }],
  fix: {
    component: "kube-controller-manager",
    change: "--kube-api-qps=300",
    reason: "All workers share one limit.",
  },
  affected: "All versions.",
  page: "docs/causes/README.md#client-throttling",
  missing: [],
  consequences: [],
};

test("a finding of the story keeps its time, can be copied, and is named after its fix", () => {
  let nowMs = 5_000;
  const clock = { monotonicMs: () => nowMs as MonotonicMs, wallMs: () => nowMs as WallMs };
  const doctor = new LabDoctor({ clock, cluster: "alpha", live: () => undefined });
  expect(doctor.answer()).toMatchObject({ findings: [], markdown: "" });
  doctor.found(finding);
  nowMs = 9_000;
  doctor.found({ ...finding, confidence: "certain: two sources" });
  const { findings, markdown, detail } = doctor.answer();
  expect(findings).toMatchObject([
    { confidence: "certain: two sources", cluster: "alpha", since: 5_000 },
  ]);
  expect(markdown).toMatch(/^## alpha\n.*### client-throttling.*--kube-api-qps=300/s);
  expect(detail).toContain("Found during the release.");
  doctor.found(undefined);
  expect(doctor.answer()).toMatchObject({
    findings: [],
    markdown: "",
    detail: "client-throttling was found and fixed. The clusters were not examined since.",
  });
});
