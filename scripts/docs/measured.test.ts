import { expect, test } from "vitest";
import { liveRow } from "./measured.ts";

const published = { hop: "published", compared: 4, p50Ms: 0.4, p99Ms: 6, maxMs: 7.2 } as const;

test("a row says how far the observer was from the ledger, and where both found the delay", () => {
  const observer = { changes: 8, missed: 0, invented: 1, hops: [published] };
  const late = { observed: "routed", ledger: "routed" } as const;
  expect(liveRow("fight", { ...observer, slowestHop: late })).toBe(
    "| fight | 8 | 0, 1 | 1 / 8 ms | not compared | routed |",
  );
});

test("a row says so when they found different hops late, or none", () => {
  const observer = { changes: 2, missed: 0, invented: 0, hops: [] };
  const row = (slowestHop: Parameters<typeof liveRow>[1]["slowestHop"]) =>
    liveRow("ghost", { ...observer, slowestHop })
      .split(" | ")
      .at(-1);
  expect(row({ observed: null, ledger: null })).toBe("none |");
  expect(row({ observed: null, ledger: "pod" })).toBe("none, by the ledger pod |");
});
