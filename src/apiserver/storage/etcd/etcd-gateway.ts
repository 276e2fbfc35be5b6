// One etcd, or the members of one, through the JSON gateway that every etcd since 3.4 has on its
// client port. Each call has a deadline, and is repeated within it as far as that is safe: a read
// always, a write only while nothing of it can have arrived. A write whose answer was lost is never
// reported as one that failed for sure.
import type { Environment } from "../../../environment/environment.ts";
import { type IncomingResponse, NetworkError } from "../../../environment/network.ts";
import { jitter } from "../../../environment/random.ts";
import { DeadlineExceededError } from "../../../kube/client/client.ts";
import { Deadline } from "../../../kube/client/deadline.ts";
import { type BodyMeter, meteredBody, readBounded } from "../../../kube/client/http-client-body.ts";
import type { RawRecord } from "../../../kube/kinds/fields.ts";
import { StorageTimeoutError, StorageUnavailableError } from "../storage.ts";
import { EtcdRefusal, refusalOf } from "./etcd-refusal.ts";
import { parseRecord } from "./etcd-wire.ts";

export interface EtcdGatewayOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "network"> {
  /** `http://127.0.0.1:2379` of each member. */
  readonly endpoints: readonly string[];
}

export interface EtcdCall {
  /** Under `/v3/`: `kv/range`. */
  readonly path: string;
  readonly body: object;
  /** A read may be repeated after a broken connection, a write only if it was not sent. */
  readonly kind: "read" | "write";
  /** Of the kind unless given. */
  readonly deadlineMs?: number;
}

/**
 * The time limit of a request in kube-apiserver 1.36: 60 s, of which a write keeps some to answer.
 */
const deadlines = { read: 60_000, write: 34_000 } as const;

/** An etcd that is there answers a connection at once; the next member may be tried then. */
const connectTimeoutMs = 5_000;

/** Until a watch is confirmed. */
const streamDeadlineMs = 10_000;

/** Between two attempts: the first pause is shorter than etcd takes to start, the last a second. */
const retryMs = { first: 50, last: 1000 } as const;

/** Ten thousand of the largest objects etcd takes (1.5 MiB) would not fit; lists come in pages. */
const longestAnswerBytes = 512 * 1024 * 1024;

export class EtcdGateway {
  readonly #options: EtcdGatewayOptions;
  readonly #stopping = new AbortController();
  /** Of the calls under way: hundreds of listeners on one signal would be slow to let go. */
  readonly #calls = new Set<AbortController>();
  /** Where calls go: the next one after a member that could not be reached. */
  #member = 0;

  constructor(options: EtcdGatewayOptions) {
    if (options.endpoints.length === 0) throw new RangeError("an etcd needs an address");
    this.#options = options;
  }

  /** Aborts when everything ends. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Ends every call and stream. Idempotent. */
  stop(): void {
    const reason = new StorageUnavailableError("the storage has been stopped");
    this.#stopping.abort(reason);
    for (const call of this.#calls) call.abort(reason);
  }

  /** Rejects with an `EtcdRefusal`, a `StorageUnavailableError` or a `StorageTimeoutError`. */
  async call(call: EtcdCall): Promise<RawRecord> {
    const { timers } = this.#options;
    const { kind, path, deadlineMs = deadlines[kind] } = call;
    this.stopping.throwIfAborted();
    const own = new AbortController();
    this.#calls.add(own);
    const deadline = new Deadline({ timers, deadlineMs, signal: own.signal, what: path });
    const body = Buffer.from(JSON.stringify(call.body));
    try {
      for (let attempt = 0; ; attempt += 1) {
        try {
          return await this.#exchange(path, body, deadline.signal);
        } catch (error) {
          if (!mayRepeat(error, kind)) throw error;
        }
        await timers.sleep(this.#pauseMs(attempt), deadline.signal);
      }
    } catch (error) {
      throw shown(error, kind, deadline.signal);
    } finally {
      deadline.release();
      this.#calls.delete(own);
    }
  }

  /** Opens a stream; resolves when it is confirmed. The caller reads the body. */
  async stream(path: string, body: object, signal: AbortSignal): Promise<IncomingResponse> {
    const { timers } = this.#options;
    const deadline = new Deadline({ timers, deadlineMs: streamDeadlineMs, signal, what: path });
    try {
      const response = await this.#send(path, Buffer.from(JSON.stringify(body)), deadline.signal);
      if (response.status !== 200) throw await refusalOf(response, path);
      deadline.met();
      return { ...response, body: meteredBody(response.body, endOf(deadline)) };
    } catch (error) {
      deadline.release();
      throw shown(error, "read", deadline.signal);
    }
  }

  async #exchange(path: string, body: Uint8Array, signal: AbortSignal): Promise<RawRecord> {
    const response = await this.#send(path, body, signal);
    if (response.status !== 200) throw await refusalOf(response, path);
    return parseRecord(await readBounded(response.body, longestAnswerBytes, path));
  }

  async #send(path: string, body: Uint8Array, signal: AbortSignal): Promise<IncomingResponse> {
    const { network, endpoints } = this.#options;
    const member = this.#member % endpoints.length;
    try {
      return await network.request({
        method: "POST",
        url: `${endpoints[member]}/v3/${path}`,
        headers: { "content-type": "application/json" },
        body,
        connectTimeoutMs,
        signal,
      });
    } catch (error) {
      // Several calls fail at once when a member goes; one step is enough for all of them.
      if (!signal.aborted && this.#member % endpoints.length === member) this.#member += 1;
      throw error;
    }
  }

  #pauseMs(attempt: number): number {
    const ms = Math.min(retryMs.first * 2 ** attempt, retryMs.last / 2);
    return jitter(this.#options.random, ms, 1);
  }
}

/** The caller's signal ends the body too, and is let go with it. */
function endOf(deadline: Deadline): BodyMeter {
  return { received: () => undefined, over: () => deadline.release() };
}

/** Nothing was sent over a connection that never came about. */
function mayRepeat(error: unknown, kind: "read" | "write"): boolean {
  if (error instanceof EtcdRefusal) return kind === "read" && error.isUnavailable;
  if (!(error instanceof NetworkError) || error.code === "ABORTED") return false;
  return kind === "read" || error.code === "REFUSED" || error.code === "UNKNOWN_HOST";
}

/** In the words in which a client of the real server sees its etcd fail. */
function shown(error: unknown, kind: "read" | "write", signal: AbortSignal): unknown {
  if (signal.aborted) {
    const { reason } = signal;
    if (!(reason instanceof DeadlineExceededError)) return reason;
    return new StorageTimeoutError(kind, "context deadline exceeded", { cause: error });
  }
  if (!(error instanceof NetworkError)) return error;
  const why = error.code === "RESET" ? "error reading from server: EOF" : error.message;
  const message = `rpc error: code = Unavailable desc = ${why}`;
  return new StorageUnavailableError(message, { cause: error });
}
