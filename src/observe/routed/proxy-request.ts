// One question to a proxy's own listener, bounded in time and in size, with the instants between
// which the answer was true.
import type { MonotonicMs } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import { Deadline } from "../../kube/client/deadline.ts";

export interface ProxyRequestOptions extends Pick<Environment, "clock" | "timers" | "network"> {
  /** Absolute. */
  readonly url: string;
  readonly signal: AbortSignal;
}

export interface ProxyAnswer {
  readonly status: number;
  readonly body: Buffer;
  readonly sentAt: MonotonicMs;
  readonly receivedAt: MonotonicMs;
}

/** The answer does not have the format of this kind of proxy. */
export class ProxyAnswerError extends Error {
  override readonly name = "ProxyAnswerError";
  readonly code = "PROXY_ANSWER";
}

/** A listener on the same machine or behind a port-forward answers in milliseconds. */
const deadlineMs = 5_000;

/** ingress-nginx keeps its backends in a shared memory of 20 MB; Lockstep's state is of that order. */
const bodyBytesMax = 64 * 1024 * 1024;

export async function askProxy(options: ProxyRequestOptions): Promise<ProxyAnswer> {
  const { clock, timers, network, url } = options;
  const deadline = new Deadline({ timers, deadlineMs, signal: options.signal, what: `GET ${url}` });
  const { signal } = deadline;
  const sentAt = clock.monotonicMs();
  try {
    const response = await network.request({ method: "GET", url, signal });
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of response.body) {
      bytes += chunk.byteLength;
      if (bytes > bodyBytesMax) {
        throw new ProxyAnswerError(`GET ${url}: the answer is longer than ${bodyBytesMax} bytes`);
      }
      chunks.push(chunk);
    }
    const body = Buffer.concat(chunks);
    return { status: response.status, body, sentAt, receivedAt: clock.monotonicMs() };
  } catch (error) {
    // The network says that it was aborted; why is what people need to know.
    throw signal.aborted ? signal.reason : error;
  } finally {
    deadline.release();
  }
}

/** The answer's JSON; throws when it is a refusal or no JSON. */
export function jsonOf({ status, body }: ProxyAnswer, url: string): unknown {
  if (status !== 200) throw new ProxyAnswerError(`GET ${url} returned status ${status}`);
  try {
    return JSON.parse(body.toString("utf8"));
  } catch (cause) {
    throw new ProxyAnswerError(`GET ${url} did not return JSON`, { cause });
  }
}
