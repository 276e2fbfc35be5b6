// One question to a proxy's own listener, bounded in time and in size, with the instants between
// which the answer was true.
import type { MonotonicMs } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import { type IncomingResponse, NetworkError } from "../../environment/network.ts";
import { type KubeClient, StatusError } from "../../kube/client/client.ts";
import { Deadline } from "../../kube/client/deadline.ts";

export interface ProxyRequestOptions extends Pick<Environment, "clock" | "timers" | "network"> {
  /** Absolute. */
  readonly url: string;
  readonly signal: AbortSignal;
}

export interface ProxyAnswer {
  /** The question, for messages: `GET http://…`. */
  readonly what: string;
  readonly status: number;
  readonly body: Buffer;
  readonly sentAt: MonotonicMs;
  readonly receivedAt: MonotonicMs;
}

/** Asks one proxy; `path` adds to the address of its listener. */
export type AskProxy = (
  path: (base: string) => string,
  signal: AbortSignal,
) => Promise<ProxyAnswer>;

/** The answer does not have the format of this kind of proxy. */
export class ProxyAnswerError extends Error {
  override readonly name = "ProxyAnswerError";
  readonly code = "PROXY_ANSWER";
}

/** No listener for observers is there, or it does not answer them. */
export class ProxyClosedError extends Error {
  override readonly name = "ProxyClosedError";
  readonly code = "PROXY_CLOSED";
}

/** A listener on the same machine or behind a port-forward answers in milliseconds. */
const deadlineMs = 5_000;

/**
 * ingress-nginx keeps its backends in a shared memory of 20 MB, and Lockstep's state is of that order;
 * Envoy answers about 1.3 kB for each endpoint.
 */
const bodyBytesMax = 64 * 1024 * 1024;

export function askingUrl(options: Omit<ProxyRequestOptions, "signal">): AskProxy {
  return (path, signal) => askProxy({ ...options, url: path(options.url), signal });
}

async function askProxy(options: ProxyRequestOptions): Promise<ProxyAnswer> {
  const { network, url } = options;
  const what = `GET ${url}`;
  try {
    return await bounded(what, options, (signal) =>
      network.request({ method: "GET", url, signal }),
    );
  } catch (error) {
    const isRefused = error instanceof NetworkError && error.code === "REFUSED";
    throw isRefused ? new ProxyClosedError(`${what}: ${error.message}`, { cause: error }) : error;
  }
}

export interface AskPodOptions extends Pick<Environment, "clock" | "timers"> {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
}

/** Through the API server, which needs `get` of `pods/proxy`. */
export function askingPod(options: AskPodOptions): AskProxy {
  const { client, namespace, pod, port } = options;
  const base = `/api/v1/namespaces/${namespace}/pods/${pod}:${port}/proxy`;
  return async (path, signal) => {
    const what = `GET ${base}${path("")}`;
    const request = { verb: "get", method: "GET", path: `${base}${path("")}` } as const;
    try {
      return await bounded(what, { ...options, signal }, async (within) =>
        client.stream({ ...request, deadlineMs, signal: within }),
      );
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      // An answer of the proxy itself has no reason.
      if (error.reason === "NotFound") throw new ProxyAnswerError(`pod ${pod} is gone`);
      const message = `${what}: ${error.message}`;
      throw error.code === 403
        ? new ProxyAnswerError(`${message}; ${permissionHint(namespace)}`, { cause: error })
        : new ProxyClosedError(message, { cause: error });
    }
  };
}

function permissionHint(namespace: string): string {
  return (
    `missing permission: get pods/proxy in namespace ${namespace} (kubectl -n ${namespace} ` +
    "create role lockstep-proxies --verb=get --resource=pods/proxy, and bind it)"
  );
}

/** The body of the answer, with the time of question and answer. */
async function bounded(
  what: string,
  options: Pick<ProxyRequestOptions, "clock" | "timers" | "signal">,
  ask: (signal: AbortSignal) => Promise<Pick<IncomingResponse, "status" | "body">>,
): Promise<ProxyAnswer> {
  const { clock, timers } = options;
  const deadline = new Deadline({ timers, deadlineMs, signal: options.signal, what });
  const { signal } = deadline;
  const sentAt = clock.monotonicMs();
  try {
    const { status, body: answer } = await ask(signal);
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of answer) {
      bytes += chunk.byteLength;
      if (bytes > bodyBytesMax) {
        throw new ProxyAnswerError(`${what}: the answer is longer than ${bodyBytesMax} bytes`);
      }
      chunks.push(chunk);
    }
    return { what, status, body: Buffer.concat(chunks), sentAt, receivedAt: clock.monotonicMs() };
  } catch (error) {
    // The network says that it was aborted; why is what people need to know.
    throw signal.aborted ? signal.reason : error;
  } finally {
    deadline.release();
  }
}

/** The answer's JSON; throws when it is a refusal or no JSON. */
export function jsonOf({ what, status, body }: ProxyAnswer): unknown {
  if (status !== 200) throw new ProxyAnswerError(`${what} returned status ${status}`);
  try {
    return JSON.parse(body.toString("utf8"));
  } catch (cause) {
    throw new ProxyAnswerError(`${what} did not return JSON`, { cause });
  }
}
