import { expect, it } from "vitest";
import { inputNamed, inputs, rangeText, readInput, shortDuration } from "./inputs.ts";
import type { Question } from "./question.ts";
import { defaultSettings } from "./run-flags.ts";

it.each([
  ["services", "12988", { value: 12_988 }],
  ["services", "9", { refusal: "It must be a whole number from 10 to 30,000." }],
  ["services", "10.5", { refusal: "It must be a whole number from 10 to 30,000." }],
  ["headless-share", "0.9", { value: 0.9 }],
  ["headless-share", ".5", { value: 0.5 }],
  ["headless-share", "1.2", { refusal: "It must be from 0 to 1." }],
  ["headless-share", "-0.1", { refusal: "It must be from 0 to 1." }],
  ["churn", "0.5/s", { value: 0.5 }],
  ["churn", "30/min", { value: 0.5 }],
  ["churn", "3/h", { refusal: "It must be from 0 to 200, such as 20, 0.5/s or 30/min." }],
  ["qps", "0", { refusal: "It must be from 1 to 10,000, such as 20, 20/s or 600/min." }],
  ["services", "30,000", { value: 30_000 }],
  ["services", "3,00", { refusal: "It must be a whole number from 10 to 30,000." }],
  ["burst", "0", { refusal: "It must be a whole number from 1 to 20,000." }],
  ["resync", "12h", { value: 43_200_000 }],
  ["resync", "30s", { refusal: "It must be from 1m to 1000h." }],
  ["grace-period", "1m30s", { value: 90_000 }],
  ["grace-period", "60", { refusal: "It must be from 1s to 1h." }],
  ["batch-period", "0", { value: 0 }],
  ["workers", "", { refusal: "It must be a whole number from 1 to 1,000." }],
  ["workers", "1e3", { refusal: "It must be a whole number from 1 to 1,000." }],
])("reads --%s %s", (key, text, expected) => {
  const input = inputNamed(key);
  expect(input && readInput(input, text)).toEqual(expected);
});

it.each(inputs)("accepts every value that the refusal of --$key suggests", (input) => {
  const refused = readInput(input, "nonsense");
  const text = "refusal" in refused ? refused.refusal : "";
  const [, from = "", to = "", examples = ""] =
    /from (\S+) to (\S+?)(?:, such as (.+))?\.$/.exec(text) ?? [];
  const suggested = [from, to, ...examples.split(/, | or /).filter((one) => one !== "")];
  expect(suggested.length).toBe(input.unit === "per second" ? 5 : 2);
  for (const one of suggested) expect([one, readInput(input, one)]).toHaveProperty("1.value");
});

it("puts every value where it is read again", () => {
  const question: Question = {
    counts: {
      services: 10,
      headlessShare: 0,
      pods: 10,
      nodes: 1,
      changesPerSecond: 0,
      writesPerSecond: undefined,
      writeLatencyMs: 0,
    },
    settings: {
      version: "1.33",
      ...defaultSettings("1.33"),
      heartbeat: { by: "lease", minMs: 1, maxMs: 1 },
    },
    seed: 1,
  };
  let changed = question;
  for (const [index, input] of inputs.entries()) changed = input.with(changed, index + 1);
  expect(inputs.map((input) => input.of(changed))).toEqual(inputs.map((_, index) => index + 1));
});

it("says ranges and durations as they are typed", () => {
  const grace = inputNamed("grace-period");
  expect(grace && rangeText(grace)).toBe("from 1s to 1h");
  expect([0, 250, 40_000, 90_000, 43_200_000, 5_400_000].map(shortDuration)).toEqual([
    "0s",
    "250ms",
    "40s",
    "1m30s",
    "12h",
    "1h30m",
  ]);
});
