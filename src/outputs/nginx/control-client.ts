// The control socket from Lockstep's side. Every answer is checked; every failure is a
// `ControlError` whose code says what to do about it.
import { type Network, NetworkError } from "../../environment/network.ts";
import type { Timers } from "../../environment/timers.ts";
import { Deadline } from "../../kube/client/deadline.ts";
import { readBounded } from "../../kube/client/http-client-body.ts";
import { isRecord } from "../../kube/kinds/fields.ts";
import { type Answer, answerOf, controlError, itemsAt, textAt, wholeAt } from "./control-answer.ts";

/** The state of the nginx behind the socket. */
export interface ControlState {
  /** Another one means that nginx was restarted and knows nothing. */
  readonly bootId: string;
  /** The files and options it was started with. */
  readonly run: string;
  /** 0 until the first full load. */
  readonly generation: number;
  readonly version: number;
  /** Of the pusher in charge; 0 when there was none. */
  readonly epoch: number;
  readonly owner: string;
  readonly masterPid: number;
  readonly workerPids: readonly number[];
}

/** The pusher, and its nginx. */
export interface Pusher {
  readonly bootId: string;
  readonly owner: string;
  readonly epoch: number;
}

export interface SlotCounters {
  readonly slot: number;
  /** Requests that were sent to it. */
  readonly requests: number;
  /** Those of them that it did not answer. */
  readonly failures: number;
  readonly lastUsedMsAgo: number;
  /** Until its answers begin, on average; known of endpoints that are chosen by it. */
  readonly latencyMs?: number;
  readonly suspect: boolean;
}

/** Counters of the workers, for endpoints that were used since the last report. */
export interface CounterReport {
  /** Of the pusher whose slots they are. */
  readonly owner: string;
  /** nginx's own time: where the next report begins. */
  readonly nowMs: number;
  readonly counters: readonly SlotCounters[];
}

/** Which slots are suspect, as the workers have found out by their requests. */
export interface SuspectReport {
  /** Of the pusher whose slots they are. */
  readonly owner: string;
  /** How often a mark was set or taken back. */
  readonly changes: number;
  readonly suspects: readonly { readonly slot: number; readonly ageMs: number }[];
}

/** The socket is local and its answers short: this long means that something is wrong. */
export const controlDeadlineMs = 2_000;

/** As long as nginx waits for a change of suspects (control.lua). */
const longestWaitMs = 60_000;

/** A caller that holds in a loop must not spin while there is no answer. */
const holdPauseMs = 10;

/** A line of counters for each of all slots. */
const longestAnswerBytes = 32 * 1024 * 1024;

export interface ControlClientOptions {
  readonly network: Network;
  readonly timers: Timers;
  readonly socketPath: string;
}

export class ControlClient {
  readonly #options: ControlClientOptions;

  constructor(options: ControlClientOptions) {
    this.#options = options;
  }

  async state(signal?: AbortSignal): Promise<ControlState> {
    const answer = await this.#ask("GET", "/state", {}, signal);
    return {
      bootId: textAt(answer, "bootId"),
      run: textAt(answer, "run"),
      generation: wholeAt(answer, "generation"),
      version: wholeAt(answer, "version"),
      epoch: wholeAt(answer, "epoch"),
      owner: textAt(answer, "owner"),
      masterPid: wholeAt(answer, "masterPid"),
      workerPids: itemsAt(answer, "workerPids").filter((pid) => typeof pid === "number"),
    };
  }

  /** Sums over all workers, for the slots that were used since then; ever used unless it is given. */
  async counters(sinceMs?: number, signal?: AbortSignal): Promise<CounterReport> {
    const path = sinceMs === undefined ? "/counters" : `/counters?since=${sinceMs}`;
    const answer = await this.#ask("GET", path, {}, signal);
    return {
      owner: textAt(answer, "owner"),
      nowMs: wholeAt(answer, "nowMs"),
      counters: itemsAt(answer, "counters").filter(isRecord).map(slotCountersOf),
    };
  }

  /** Answers as soon as there is a change after the n-th; at once unless that is given. */
  async suspects(after: number | undefined, signal?: AbortSignal): Promise<SuspectReport> {
    const path = after === undefined ? "/suspects" : `/suspects?after=${after}`;
    const deadlineMs = longestWaitMs + controlDeadlineMs;
    const answer = await this.#ask("GET", path, { deadlineMs }, signal);
    return {
      owner: textAt(answer, "owner"),
      changes: wholeAt(answer, "changes"),
      suspects: itemsAt(answer, "suspects")
        .filter(isRecord)
        .map((one) => ({ slot: wholeAt(one, "slot"), ageMs: wholeAt(one, "ageMs") })),
    };
  }

  /** Begins a full load and takes charge; gives the generation to load into. */
  async beginLoad(pusher: Pusher, signal?: AbortSignal): Promise<number> {
    return wholeAt(await this.#ask("POST", "/loads", { pusher }, signal), "generation");
  }

  async loadPart(
    pusher: Pusher,
    generation: number,
    body: string,
    signal?: AbortSignal,
  ): Promise<void> {
    await this.#ask("PUT", `/loads/${generation}`, { pusher, body }, signal);
  }

  /** Once it has answered, every request sees the load and nothing else. */
  async commitLoad(pusher: Pusher, generation: number, signal?: AbortSignal): Promise<void> {
    await this.#ask("POST", `/loads/${generation}/commit`, { pusher }, signal);
  }

  /** Once it has answered, every request sees the changes. */
  async change(pusher: Pusher, body: string, signal?: AbortSignal): Promise<void> {
    await this.#ask("PUT", "/changes", { pusher, body }, signal);
  }

  /** These endpoints answered a probe: from now on they are suspect no more. */
  async answered(pusher: Pusher, slots: readonly number[], signal?: AbortSignal): Promise<void> {
    await this.#ask("PUT", "/answered", { pusher, body: JSON.stringify(slots) }, signal);
  }

  /** Resolves as soon as the worker that answered has ended, or soon when none can be asked. */
  async hold(signal: AbortSignal): Promise<void> {
    const { network, socketPath, timers } = this.#options;
    const what = "GET /hold";
    const deadline = new Deadline({ timers, deadlineMs: controlDeadlineMs, signal, what });
    try {
      const url = "http://nginx/hold";
      const request = { method: "GET", url, socketPath, signal: deadline.signal };
      const response = await network.request(request);
      deadline.met();
      await readBounded(response.body, longestAnswerBytes, what);
      if (response.status === 200) return;
    } catch (error) {
      if (!(error instanceof NetworkError)) throw error;
    } finally {
      deadline.release();
    }
    await timers.sleep(holdPauseMs, signal).catch(() => undefined);
  }

  async #ask(
    method: string,
    path: string,
    { pusher, body, deadlineMs = controlDeadlineMs }: Asked,
    signal: AbortSignal | undefined,
  ): Promise<Answer> {
    const { network, socketPath, timers } = this.#options;
    const what = `${method} ${path}`;
    const deadline = new Deadline({ timers, deadlineMs, signal, what });
    try {
      const response = await network.request({
        method,
        url: `http://nginx${path}`,
        socketPath,
        headers: pusher === undefined ? {} : headersOf(pusher),
        signal: deadline.signal,
        ...(body === undefined ? {} : { body: Buffer.from(body) }),
      });
      const text = (await readBounded(response.body, longestAnswerBytes, what)).toString("utf8");
      return answerOf(what, response.status, text);
    } catch (error) {
      signal?.throwIfAborted();
      // An aborted call fails with the reason of the abort, not with the error of the network.
      throw controlError(what, deadline.signal.aborted ? deadline.signal.reason : error);
    } finally {
      deadline.release();
    }
  }
}

function slotCountersOf(record: Answer): SlotCounters {
  const { latencyMs } = record;
  return {
    slot: wholeAt(record, "slot"),
    requests: wholeAt(record, "requests"),
    failures: wholeAt(record, "failures"),
    lastUsedMsAgo: wholeAt(record, "lastUsedMsAgo"),
    ...(typeof latencyMs === "number" ? { latencyMs } : {}),
    suspect: record["suspect"] === true,
  };
}

interface Asked {
  readonly pusher?: Pusher;
  readonly body?: string;
  readonly deadlineMs?: number;
}

function headersOf({ bootId, owner, epoch }: Pusher): Readonly<Record<string, string>> {
  return {
    "content-type": "application/json",
    "x-lockstep-boot": bootId,
    "x-lockstep-owner": owner,
    "x-lockstep-epoch": String(epoch),
  };
}
