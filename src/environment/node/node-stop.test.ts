import { EventEmitter } from "node:events";
import { describe, expect, test } from "vitest";
import type { MonotonicMs, WallMs } from "../clock.ts";
import { stopOnRequest } from "./node-stop.ts";

class FakeProcess extends EventEmitter {
  ppid = 7;
  readonly env: Readonly<Record<string, string>>;
  readonly stdout = new EventEmitter();
  readonly stderr = Object.assign(new EventEmitter(), {
    text: "",
    write(text: string) {
      this.text += text;
    },
  });
  /** Undefined for an exit with the code that the command has set. */
  readonly exits: (number | undefined)[] = [];

  constructor(env: Readonly<Record<string, string>> = {}) {
    super();
    this.env = env;
  }

  exit(code?: number): void {
    this.exits.push(code);
  }
}

function stoppable({
  env,
  terminals = [],
  isOneOutput = false,
}: {
  readonly env?: Readonly<Record<string, string>>;
  /** The descriptors that are a terminal. */
  readonly terminals?: readonly number[];
  readonly isOneOutput?: boolean;
} = {}) {
  const time = { ms: 1000 };
  const clock = { monotonicMs: () => time.ms as MonotonicMs, wallMs: () => time.ms as WallMs };
  const process = new FakeProcess(env);
  const stop = new AbortController();
  const open = new Set(terminals);
  const isTerminal = (descriptor: number) => open.has(descriptor);
  const requests = stopOnRequest({
    process,
    clock,
    stop,
    isTerminal,
    isOneOutput: () => isOneOutput,
  });
  return { time, process, stop, requests, open };
}

function closedPipe(code = "EPIPE"): Error {
  return Object.assign(new Error(`write ${code}`), { code });
}

async function abortOf({ signal }: AbortController): Promise<unknown> {
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
  return signal.reason;
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
    stop.abort(new Error("standard output was closed"));
    time.ms += 1000;
    process.emit("SIGINT");
    expect(process.exits).toEqual([]);
  });

  test("the first one after the command has returned ends the process, with its exit code", () => {
    const { process, requests } = stoppable();
    requests.commandReturned();
    process.emit("SIGTERM");
    expect(process.exits).toEqual([undefined]);
  });
});

describe("a terminal that is closed", () => {
  test.each([0, 1, 2])("stops by SIGHUP what has it as descriptor %i", (descriptor) => {
    const { process, stop } = stoppable({ terminals: [descriptor] });
    process.emit("SIGHUP");
    expect(stop.signal.reason).toEqual(new Error("stopped by SIGHUP"));
  });

  test("does not stop what nohup has taken from it", () => {
    const { process, stop } = stoppable();
    process.emit("SIGHUP");
    expect([stop.signal.aborted, process.exits]).toEqual([false, []]);
  });

  test.each([1, 2])("stops, without a signal too, what writes to it by %i", async (descriptor) => {
    const { stop, open } = stoppable({ terminals: [descriptor] });
    open.delete(descriptor);
    expect(await abortOf(stop)).toEqual(new Error("stopped because the terminal closed"));
  });
});

describe("standard output", () => {
  test("a closed pipe stops the command, quietly, and the exit code is 0", () => {
    const { process, stop, requests } = stoppable();
    const error = closedPipe();
    process.stdout.emit("error", error);
    process.stdout.emit("error", closedPipe());
    expect(stop.signal.reason).toEqual(new Error("standard output was closed", { cause: error }));
    expect([process.stderr.text, requests.exitCode]).toEqual(["", 0]);
  });

  test("a full disk is named, and the exit code is 2", () => {
    const { process, stop, requests } = stoppable();
    process.stdout.emit("error", closedPipe("ENOSPC"));
    expect(stop.signal.aborted).toBe(true);
    expect(process.stderr.text).toBe("lockstep: the output cannot be written: write ENOSPC\n");
    expect(requests.exitCode).toBe(2);
  });

  test("without an error the exit code is the command's", () => {
    expect(stoppable().requests.exitCode).toBeUndefined();
  });

  test("progress without a reader stops the command where results have the same one", () => {
    const { process, stop } = stoppable({ isOneOutput: true });
    process.stderr.emit("error", closedPipe());
    expect(stop.signal.aborted).toBe(true);
  });

  test("a log without a reader stops nothing", () => {
    const { process, stop } = stoppable();
    process.stderr.emit("error", closedPipe());
    expect(stop.signal.aborted).toBe(false);
  });
});

describe("the end of npx", () => {
  test("stops what it started", async () => {
    const { process, stop } = stoppable({ env: { npm_command: "exec" } });
    process.ppid = 1;
    expect(await abortOf(stop)).toEqual(new Error("stopped because npx ended"));
  });
});
