import { expect, test } from "vitest";
import { record, stuckRecord } from "../../tests/history/history-world.ts";
import type { Environment } from "../environment/environment.ts";
import type { Simulation } from "../simulation/simulation.ts";
import { simulate } from "../simulation/simulation.ts";
import { History } from "./history.ts";
import type { HistoryAnswer, HistoryPortEvents, HistoryRequest } from "./history-port.ts";

const path = "/state/lockstep/h.db";

/** A thread with scripted answers after a millisecond, which keeps its requests. */
class ScriptedThread {
  readonly asked: { readonly atMs: number; readonly request: HistoryRequest }[] = [];
  answer: (request: HistoryRequest) => HistoryAnswer | undefined = usualAnswer;
  isEnded = false;
  events: HistoryPortEvents | undefined;

  start(simulation: Simulation, { timers, files }: Environment, events: HistoryPortEvents) {
    this.events = events;
    return {
      post: (request: HistoryRequest) => {
        this.asked.push({ atMs: simulation.now(), request });
        const answer = this.answer(request);
        timers.after(1, () => {
          if (answer?.type === "opened") void files.write(path, "");
          if (answer !== undefined) events.onAnswer(answer);
        });
      },
      end: async () => {
        this.isEnded = true;
      },
    };
  }

  /** When each batch was asked for, and how many were in it. */
  get batches(): readonly (readonly [atMs: number, size: number])[] {
    return this.asked.flatMap(({ atMs, request }) =>
      request.type === "write" ? [[atMs, request.batch.length] as const] : [],
    );
  }
}

function usualAnswer(request: HistoryRequest): HistoryAnswer {
  switch (request.type) {
    case "open":
      return { type: "opened", left: [] };
    case "write":
      return { type: "written", removed: 0 };
    case "tidy":
      return { type: "tidied", removed: 0, more: false };
    case "close":
      return { type: "closed" };
  }
}

const diskFull: HistoryAnswer = { type: "refused", refusal: "no space", message: "no room" };

interface World {
  readonly simulation: Simulation;
  readonly thread: ScriptedThread;
  readonly history: History;
  readonly committed: readonly string[];
  readonly environment: Environment;
}

function inWorld(run: (world: World) => Promise<void>): Promise<void> {
  return simulate({ seed: 1, maxVirtualMs: 3_600_000 }, async (simulation) => {
    const environment = simulation.host("observer");
    const thread = new ScriptedThread();
    const committed: string[] = [];
    const history = await History.open({
      ...environment,
      path,
      onCommitted: (ids) => committed.push(...ids),
      startThread: (events) => thread.start(simulation, environment, events),
    });
    await run({ simulation, thread, history, committed, environment });
    await history.close();
    expect(thread.isEnded).toBe(true);
  });
}

function addMany(history: History, count: number, from = 0): void {
  for (let number = from; number < from + count; number += 1) history.add(record(number));
}

test("a batch is written a moment after its first journey, with all that came until then", () =>
  inWorld(async ({ simulation, thread, history, committed }) => {
    await simulation.sleep(1_000);
    const began = simulation.now();
    history.add(record(1));
    await simulation.sleep(100);
    history.add(stuckRecord(2));
    expect(committed).toEqual([]);
    await simulation.sleep(150);
    expect(thread.batches).toEqual([[began + 200, 2]]);
    expect(committed).toEqual(["run-1", "run-2"]);
    expect(history.counts).toEqual({ added: 2, committed: 2, dropped: 0, removed: 0 });
  }));

test("many journeys do not wait for the moment, and go in batches of bounded size", () =>
  inWorld(async ({ simulation, thread, history, committed }) => {
    await simulation.sleep(1_000);
    addMany(history, 1_200);
    await simulation.sleep(10);
    expect(thread.batches.map(([, size]) => size)).toEqual([500, 500]);
    await simulation.sleep(250);
    expect(thread.batches.map(([, size]) => size)).toEqual([500, 500, 200]);
    expect(committed).toHaveLength(1_200);
  }));

test("flushing writes at once what was added before, and needs nothing added", () =>
  inWorld(async ({ simulation, history, committed }) => {
    await history.flush();
    const began = simulation.now();
    history.add(record(1));
    await history.flush();
    expect(committed).toEqual(["run-1"]);
    expect(simulation.now() - began).toBeLessThan(10);
  }));

test("a full disk is reported once and tried again ever more rarely, and nothing is lost", () =>
  inWorld(async ({ simulation, thread, history, committed }) => {
    thread.answer = (request) => (request.type === "write" ? diskFull : usualAnswer(request));
    await simulation.sleep(1_000);
    const began = simulation.now();
    addMany(history, 3);
    await simulation.sleep(60_000);
    expect(history.trouble).toBe("no room");
    expect(committed).toEqual([]);
    const rests = thread.batches.map(([atMs], at) => atMs - (thread.batches[at - 1]?.[0] ?? began));
    expect(rests.slice(0, 8)).toEqual([200, 251, 501, 1001, 2001, 4001, 8001, 10001]);
    thread.answer = usualAnswer;
    await simulation.sleep(10_001);
    expect(history.trouble).toBeUndefined();
    expect(committed).toEqual(["run-0", "run-1", "run-2"]);
    expect(simulation.logLines().map(({ message, fields }) => [message, fields])).toEqual([
      ["changes are waiting to be saved", { reason: "no room" }],
      ["changes are saved again", { dropped: 0 }],
    ]);
  }));

test("what finds no room while nothing can be written is counted, never what waits already", () =>
  inWorld(async ({ simulation, thread, history, committed }) => {
    thread.answer = (request) => (request.type === "write" ? diskFull : usualAnswer(request));
    addMany(history, 20_100);
    expect(history.waiting).toBe(20_000);
    expect(history.counts).toEqual({ added: 20_100, committed: 0, dropped: 100, removed: 0 });
    await simulation.sleep(1_000);
    thread.answer = usualAnswer;
    await history.flush();
    expect(committed.at(-1)).toBe("run-19999");
    expect(history.counts).toEqual({ added: 20_100, committed: 20_000, dropped: 100, removed: 0 });
  }));

test("who flushes waits for what was added before, whatever is dropped meanwhile", () =>
  inWorld(async ({ simulation, thread, history, committed }) => {
    thread.answer = (request) => (request.type === "write" ? diskFull : usualAnswer(request));
    addMany(history, 20_000);
    const flushed = history.flush().then(() => committed.length);
    addMany(history, 30_000);
    await simulation.sleep(1_000);
    thread.answer = usualAnswer;
    expect(await flushed).toBe(20_000);
  }));

test("closing waits some seconds for a disk that refuses, then gives up and counts", () =>
  inWorld(async ({ simulation, thread, history }) => {
    thread.answer = (request) => (request.type === "write" ? diskFull : usualAnswer(request));
    addMany(history, 3);
    const began = simulation.now();
    await Promise.all([history.close(), history.close()]);
    expect(simulation.now() - began).toBe(5_001);
    history.add(record(9));
    expect(history.counts).toEqual({ added: 4, committed: 0, dropped: 4, removed: 0 });
    expect(thread.asked.at(-1)?.request).toEqual({ type: "close" });
  }));

test("a thread that ends stops the history, not the observer", () =>
  inWorld(async ({ simulation, thread, history }) => {
    thread.answer = (request) => (request.type === "write" ? undefined : usualAnswer(request));
    addMany(history, 2);
    const flushed = history.flush();
    await simulation.sleep(10);
    thread.events?.onEnded("its thread ended with code 1");
    await flushed;
    history.add(record(3));
    await history.flush();
    expect(history.trouble).toBe("its thread ended with code 1");
    expect(history.counts).toEqual({ added: 3, committed: 0, dropped: 3, removed: 0 });
  }));

test("a file that turns out damaged is written no more", () =>
  inWorld(async ({ thread, history, simulation }) => {
    const damaged: HistoryAnswer = { type: "refused", refusal: "damaged", message: "damaged" };
    thread.answer = (request) => (request.type === "write" ? damaged : usualAnswer(request));
    addMany(history, 2);
    await history.flush();
    addMany(history, 2);
    await simulation.sleep(60_000);
    expect(thread.batches).toHaveLength(1);
    expect(history.counts).toEqual({ added: 4, committed: 0, dropped: 4, removed: 0 });
    expect(simulation.logLines().map(({ message, fields }) => [message, fields])).toEqual([
      ["changes are not saved any more", { reason: "damaged" }],
    ]);
  }));

test("a removed file is created again before anything more is acknowledged", () =>
  inWorld(async ({ simulation, thread, history, committed, environment }) => {
    await history.flush();
    await simulation.sleep(1_000);
    await environment.files.remove(path);
    history.add(record(1));
    await history.flush();
    const types = thread.asked.map(({ request }) => request.type);
    expect(types).toEqual(["open", "tidy", "close", "open", "write"]);
    expect(committed).toEqual(["run-1"]);
  }));

test("a file that was removed and cannot be made again yet is tried again until it can", () =>
  inWorld(async ({ simulation, thread, history, committed, environment }) => {
    await history.flush();
    await simulation.sleep(1_000);
    const message = "cannot write it: its disk is full";
    thread.answer = (request) =>
      request.type === "open"
        ? { type: "not opened", code: "CANNOT_OPEN", message }
        : usualAnswer(request);
    await environment.files.remove(path);
    addMany(history, 3);
    await simulation.sleep(120_000);
    expect(history.trouble).toBe(message);
    expect(committed).toEqual([]);
    // Nothing is asked of a thread that has no file open.
    const asked = thread.asked.slice(1).map(({ request }) => request.type);
    expect([...new Set(asked)]).toEqual(["tidy", "close", "open"]);
    expect(asked.filter((type) => type !== "open")).toEqual(["tidy", "close"]);
    thread.answer = (request) =>
      request.type === "open"
        ? { type: "not opened", code: "IN_USE", message: "another process writes it" }
        : usualAnswer(request);
    await simulation.sleep(10_001);
    expect(history.trouble).toBe("another process writes it");
    thread.answer = usualAnswer;
    await history.flush();
    expect(committed).toEqual(["run-0", "run-1", "run-2"]);
    expect(history.trouble).toBeUndefined();
    expect(simulation.logLines().map((one) => one.message)).toEqual([
      "the history file was removed; starting a new one",
      "changes are waiting to be saved",
      "changes are waiting to be saved",
      "changes are saved again",
    ]);
  }));

test("closing gives up on a file that was removed and cannot be made again", () =>
  inWorld(async ({ simulation, thread, history, environment }) => {
    await history.flush();
    await simulation.sleep(1_000);
    thread.answer = (request) =>
      request.type === "open"
        ? { type: "not opened", code: "CANNOT_OPEN", message: "no room" }
        : usualAnswer(request);
    await environment.files.remove(path);
    addMany(history, 2);
    await history.close();
    expect(history.counts).toEqual({ added: 2, committed: 0, dropped: 2, removed: 0 });
  }));

test("a file of something else where the history was is left as it is", () =>
  inWorld(async ({ simulation, thread, history, environment }) => {
    await history.flush();
    await simulation.sleep(1_000);
    thread.answer = (request) => {
      if (request.type !== "open") return usualAnswer(request);
      return { type: "not opened", code: "NOT_A_HISTORY", message: "not a history" };
    };
    await environment.files.remove(path);
    addMany(history, 2);
    await history.flush();
    expect(history.trouble).toBe("not a history");
    expect(history.counts).toEqual({ added: 2, committed: 0, dropped: 2, removed: 0 });
  }));

test("a log that has grown is emptied before the next batch", () =>
  inWorld(async ({ simulation, thread, history, environment }) => {
    history.add(record(1));
    await history.flush();
    await environment.files.write(`${path}-wal`, new Uint8Array(9 * 1024 * 1024));
    history.add(record(2));
    await history.flush();
    await simulation.sleep(1);
    const writes = thread.asked.flatMap(({ request }) =>
      request.type === "write" ? [request] : [],
    );
    expect(writes.map(({ emptyLog }) => emptyLog)).toEqual([false, true]);
  }));

test("age is looked after every minute, in steps that let batches pass", () =>
  inWorld(async ({ simulation, thread, history }) => {
    let steps = 3;
    thread.answer = (request) => {
      if (request.type !== "tidy") return usualAnswer(request);
      steps -= 1;
      return { type: "tidied", removed: 500, more: steps > 0 };
    };
    await simulation.sleep(59_000);
    expect(history.counts.removed).toBe(0);
    await simulation.sleep(2_000);
    expect(history.counts.removed).toBe(1_500);
    await simulation.sleep(60_000);
    expect(history.counts.removed).toBe(2_000);
  }));

test("a file that cannot be opened is reported, and its thread ends", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const environment = simulation.host("observer");
    const thread = new ScriptedThread();
    thread.answer = () => ({
      type: "not opened",
      code: "IN_USE",
      message: "another process writes it",
    });
    const opening = History.open({
      ...environment,
      path,
      startThread: (events) => thread.start(simulation, environment, events),
    });
    await expect(opening).rejects.toMatchObject({
      code: "IN_USE",
      message: "another process writes it",
    });
    expect(thread.isEnded).toBe(true);
  }));
