// The Kubernetes client over the environment's network: adds where the cluster is and who we are,
// bounds time and size, and makes refusals into `StatusError`. It retries nothing but a 401 whose
// credentials could be renewed; everything else is the caller's policy.
import type { Registry } from "prom-client";
import { type Clock, elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import type { Log } from "../../environment/log.ts";
import { type IncomingResponse, type Network, NetworkError } from "../../environment/network.ts";
import type { Timers } from "../../environment/timers.ts";
import {
  type ClusterAccess,
  type Credentials,
  CredentialsError,
} from "../credentials/credentials.ts";
import {
  DeadlineExceededError,
  type KubeClient,
  type KubeRequest,
  type KubeResponse,
  StatusError,
} from "./client.ts";
import { Deadline, orAborted } from "./deadline.ts";
import { meteredBody, readBounded } from "./http-client-body.ts";
import { type ExchangeMetrics, exchangeMetrics } from "./http-client-metrics.ts";
import { statusError } from "./http-client-status.ts";

export interface HttpKubeClientOptions {
  readonly network: Network;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly cluster: ClusterAccess;
  readonly userAgent: string;
  readonly log: Log;
  readonly metrics?: Registry | undefined;
  /** Called for every request that the server's rules forbid. */
  readonly onForbidden?: ((cluster: string, error: StatusError) => void) | undefined;
}

/** Twice what 30,000 pods take in one body; V8 cannot make a string of much more to parse. */
const longestBodyBytes = 256 * 1024 * 1024;

/** Of a refusal only the `Status` matters, and that is small. */
const longestRefusalBytes = 256 * 1024;

export class HttpKubeClient implements KubeClient {
  readonly #options: HttpKubeClientOptions;

  constructor(options: HttpKubeClientOptions) {
    this.#options = options;
  }

  async request(request: KubeRequest): Promise<KubeResponse> {
    const call = this.#begin(request);
    try {
      const response = await this.#answer(request, call);
      const what = describe(request);
      const body = await readBounded(meteredBody(response.body, call), longestBodyBytes, what);
      call.answered(String(response.status));
      const { status, headers, peer } = response;
      return { status, headers, body, peer };
    } catch (error) {
      throw call.failed(error);
    } finally {
      call.over();
    }
  }

  async stream(request: KubeRequest): Promise<IncomingResponse> {
    const call = this.#begin(request);
    try {
      const response = await this.#answer(request, call);
      call.deadline.met();
      call.answered(String(response.status));
      return { ...response, body: meteredBody(response.body, call) };
    } catch (error) {
      call.over();
      throw call.failed(error);
    }
  }

  #begin(request: KubeRequest): Call {
    const { clock, timers, cluster, metrics } = this.#options;
    const { deadlineMs, signal, verb } = request;
    const deadline = new Deadline({ timers, deadlineMs, signal, what: describe(request) });
    const meter = metrics === undefined ? noMetrics : exchangeMetrics(metrics, cluster.name, verb);
    return new Call(clock, deadline, meter);
  }

  /** The answer, if it is not a refusal. */
  async #answer(request: KubeRequest, call: Call): Promise<IncomingResponse> {
    const { cluster, log } = this.#options;
    const { signal } = call.deadline;
    const credentials = await orAborted(cluster.credentials(), signal);
    const response = await this.#send(request, credentials, signal);
    if (response.status < 300) return response;
    const refusal = await this.#refusal(request, response);
    if (response.status !== 401) throw refusal;
    cluster.invalidate(credentials);
    const renewed = await orAborted(cluster.credentials(), signal);
    if (sameCredentials(credentials, renewed)) throw refusal;
    log.info("the API server rejected the credentials; retrying with renewed ones", {
      cluster: cluster.name,
    });
    const second = await this.#send(request, renewed, signal);
    if (second.status < 300) return second;
    throw await this.#refusal(request, second);
  }

  #send(
    request: KubeRequest,
    { authorization, tls }: Credentials,
    signal: AbortSignal,
  ): Promise<IncomingResponse> {
    const { network, cluster, userAgent } = this.#options;
    const body = request.body === undefined ? undefined : Buffer.from(JSON.stringify(request.body));
    return network.request({
      method: request.method,
      url: `${cluster.server}${request.path}`,
      headers: {
        accept: request.accept ?? "application/json",
        "user-agent": userAgent,
        ...(authorization === undefined ? {} : { authorization }),
        ...(body === undefined
          ? {}
          : { "content-type": request.contentType ?? "application/json" }),
      },
      ...(body === undefined ? {} : { body }),
      tls,
      signal,
    });
  }

  async #refusal(request: KubeRequest, response: IncomingResponse): Promise<StatusError> {
    const what = describe(request);
    const body = await readBounded(response.body, longestRefusalBytes, what, "cut");
    const { status, headers } = response;
    const { clock, cluster, onForbidden } = this.#options;
    const error = statusError({ what, status, headers, body, now: clock.wallMs() });
    if (status === 403) onForbidden?.(cluster.name, error);
    return error;
  }
}

/**
 * One request from its start to the end of its body. Invariant: `over` is called once and for all,
 * and with it the deadline and the gauge of open requests are released.
 */
class Call {
  readonly deadline: Deadline;
  readonly #clock: Clock;
  readonly #meter: ExchangeMetrics;
  readonly #startedAt: MonotonicMs;
  #isOver = false;

  constructor(clock: Clock, deadline: Deadline, meter: ExchangeMetrics) {
    this.deadline = deadline;
    this.#clock = clock;
    this.#meter = meter;
    this.#startedAt = clock.monotonicMs();
    // A stream whose reader aborts before reading has no other way to tell.
    deadline.signal.addEventListener("abort", () => this.over(), { once: true });
  }

  received(bytes: number): void {
    this.#meter.received(bytes);
  }

  answered(code: string): void {
    this.#meter.answered(code, elapsedMs(this.#startedAt, this.#clock.monotonicMs()));
  }

  /** Counts the failure and gives the error to throw. */
  failed(error: unknown): unknown {
    const shown = this.#shown(error);
    this.answered(codeOf(shown));
    return shown;
  }

  /** A passed deadline shows as itself; the caller's own abort as the network words it. */
  #shown(error: unknown): unknown {
    const { aborted, reason } = this.deadline.signal;
    if (aborted && reason instanceof DeadlineExceededError) return reason;
    if (!aborted || error !== reason) return error;
    return new NetworkError("ABORTED", "aborted by the caller", { cause: reason });
  }

  over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.deadline.release();
    this.#meter.over();
  }
}

const noMetrics: ExchangeMetrics = {
  received: () => undefined,
  answered: () => undefined,
  over: () => undefined,
};

function codeOf(error: unknown): string {
  if (error instanceof StatusError) return String(error.code);
  if (error instanceof NetworkError || error instanceof DeadlineExceededError) return error.code;
  return error instanceof CredentialsError ? "CREDENTIALS" : "FAILED";
}

function sameCredentials(one: Credentials, other: Credentials): boolean {
  return one.authorization === other.authorization && one.tls === other.tls;
}

/** The query stays out: continue tokens are long, and the path says what was asked. */
function describe({ method, path }: KubeRequest): string {
  return `${method} ${path.replace(/\?.*$/, "")}`;
}
