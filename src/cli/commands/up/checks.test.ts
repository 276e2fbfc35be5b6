// The checks of the fix depend on order and causes, not on how fast the machine is.
import { expect, test } from "vitest";
import type { Finding } from "../../../doctor/finding.ts";
import { checksOf } from "./checks.ts";
import type { Release } from "./release.ts";

const release: Release = {
  publishedMs: 28_100,
  stockMs: undefined,
  lockstepMs: undefined,
  stock: undefined,
  lockstep: undefined,
  finding: undefined,
};
const finding = {
  rule: "client-throttling",
  confidence: "certain: three sources",
} as unknown as Finding;
const throttled = { ...release, finding };

function fixCheck(fixed: Partial<Release>) {
  const checks = checksOf({ throttled, fixed: { ...release, ...fixed } });
  const { text, holds } = checks.find(({ name }) => name === "fix-works") ?? {};
  return [text, holds];
}

test("the fix works on a busy machine too, where a release is only some times faster", () => {
  expect(fixCheck({ publishedMs: 8_040 })).toEqual([
    "with the fix, removed pods leave the Endpoints 3.5 times faster: 28.1 s → 8.04 s in real time",
    true,
  ]);
});

test("a fix works only if the release is faster and its cause is not found again", () => {
  expect(fixCheck({ publishedMs: 30_000 })[1]).toBe(false);
  expect(fixCheck({ publishedMs: 20_000, finding })).toEqual([
    "with the fix, client-throttling is found again",
    false,
  ]);
  expect(fixCheck({ publishedMs: undefined })[1]).toBe(false);
});
