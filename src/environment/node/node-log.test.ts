// The log's two forms, asserted as whole lines.
import { expect, it } from "vitest";
import type { Clock, MonotonicMs, WallMs } from "../clock.ts";
import { type NodeLogOptions, nodeLog } from "./node-log.ts";

const clock: Clock = {
  monotonicMs: () => 0 as MonotonicMs,
  wallMs: () => Date.parse("2026-01-02T03:04:05.678Z") as WallMs,
};

it("writes one plain line for a person, quoting what is not one word", () => {
  const { log, lines } = recording({ format: "text" });
  const child = log.child({ cluster: "east" });
  child.info("the watch is open", { resource: "pods", version: 42, missing: undefined });
  child.warn("it broke", {
    error: new Error("connection\nlost", { cause: new Error("EPIPE") }),
    list: [1, 2],
  });
  expect(lines).toEqual([
    "03:04:05.678 INFO  the watch is open cluster=east resource=pods version=42\n",
    '03:04:05.678 WARN  it broke cluster=east error="connection\\nlost: EPIPE" list=[1,2]\n',
  ]);
});

it("writes one JSON object a line for a machine", () => {
  const { log, lines } = recording({ format: "json" });
  log.child({ cluster: "east" }).error("it broke", { attempt: 2 });
  expect(lines.map((line): unknown => JSON.parse(line))).toEqual([
    {
      level: "error",
      time: "2026-01-02T03:04:05.678000Z",
      message: "it broke",
      cluster: "east",
      attempt: 2,
    },
  ]);
});

it("keeps an error's message, stack and cause in JSON", () => {
  const { log, lines } = recording({ format: "json" });
  log.error("it broke", { error: new Error("outer", { cause: new Error("inner") }) });
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({
    error: {
      type: "Error",
      message: "outer",
      stack: expect.any(String),
      cause: { message: "inner" },
    },
  });
});

it("writes a failure that was expected as its messages, without a stack", () => {
  const { log, lines } = recording({ format: "json" });
  const inner = Object.assign(new Error("connection refused"), { code: "REFUSED" });
  const error = Object.assign(new Error("no answer", { cause: inner }), { code: 503 });
  log.child({ before: error }).warn("it broke", { reason: error });
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({
    before: { type: "Error", code: 503, message: "no answer: connection refused" },
    reason: { type: "Error", code: 503, message: "no answer: connection refused" },
  });
  expect(lines[0]).not.toContain("stack");
});

it.each(["text", "json"] as const)("drops lines below the level (%s)", (format) => {
  const { log, lines } = recording({ format, level: "warn" });
  log.debug("one");
  log.info("two");
  log.warn("three");
  log.error("four");
  expect(lines).toHaveLength(2);
});

it("survives fields that cannot be written", () => {
  const { log, lines } = recording({ format: "text" });
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  log.info("odd", { cycle, big: 1n, long: "x".repeat(3000) });
  expect(lines).toEqual([
    `03:04:05.678 INFO  odd cycle="[object Object]" big=1 long=${"x".repeat(2000)}…\n`,
  ]);
});

function recording(options: NodeLogOptions) {
  const lines: string[] = [];
  const log = nodeLog({ ...options, clock, write: (line) => lines.push(line) });
  return { log, lines };
}
