import { EventEmitter } from "node:events";
import { describe, expect, test } from "vitest";
import type { MonotonicMs, WallMs } from "../clock.ts";
import { stopOnRequest } from "./node-stop.ts";

class FakeProcess extends EventEmitter {
  ppid = 7;
  readonly env: Readonly<Record<string, string>>;
  readonly exits: number[] = [];

  constructor(env: Readonly<Record<string, string>> = {}) {
    super();
    this.env = env;
  }

  exit(code: number): void {
    this.exits.push(code);
  }
}

function stoppable(env?: Readonly<Record<string, string>>) {
  const time = { ms: 1000 };
  const clock = { monotonicMs: () => time.ms as MonotonicMs, wallMs: () => time.ms as WallMs };
  const process = new FakeProcess(env);
  const stop = new AbortController();
  stopOnRequest({ process, clock, stop });
  return { time, process, stop };
}

describe("signals", () => {
  test("the first stops, and says which it was", () => {
    const { process, stop } = stoppable();
    process.emit("SIGTERM");
    expect(stop.signal.reason).toEqual(new Error("stopped by SIGTERM"));
    expect(process.exits).toEqual([]);
  });

  test("one that npm hands on beside the terminal's own is the same request", () => {
    const { time, process, stop } = stoppable();
    process.emit("SIGINT");
    time.ms += 100;
    process.emit("SIGINT");
    expect([stop.signal.aborted, process.exits]).toEqual([true, []]);
  });

  test("another one later ends the process as it stands", () => {
    const { time, process } = stoppable();
    process.emit("SIGINT");
    time.ms += 1000;
    process.emit("SIGTERM");
    expect(process.exits).toEqual([130]);
  });

  test("one that comes after it was stopped for another reason is the first", () => {
    const { time, process, stop } = stoppable();
    stop.abort(new Error("nobody takes the output"));
    time.ms += 1000;
    process.emit("SIGINT");
    expect(process.exits).toEqual([]);
  });
});

describe("the end of npx", () => {
  test("stops what it started", async () => {
    const { process, stop } = stoppable({ npm_command: "exec" });
    process.ppid = 1;
    await new Promise((resolve) => stop.signal.addEventListener("abort", resolve));
    expect(stop.signal.reason).toEqual(new Error("stopped by the end of npx"));
  });
});
