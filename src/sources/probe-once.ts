// One probe of one endpoint: HTTP where its readiness probe is HTTP, judged as a kubelet judges;
// else whether it takes a connection. The network speaks HTTP only, so a program that speaks
// something else, or takes its time, fails in a way that proves it was there.
import type { Environment } from "../environment/environment.ts";
import { NetworkError, type NetworkErrorCode } from "../environment/network.ts";
import { Deadline } from "../kube/client/deadline.ts";

export interface ProbeTarget {
  readonly cluster: string;
  /** The endpoint that is in doubt. */
  readonly address: string;
  readonly port: number;
  /** The pod that had the address when the doubt arose; its successor there is another one. */
  readonly podUid?: string;
  /** The machine it is on, where that is known: probes are spread over machines. */
  readonly node?: string;
  /** How to ask it; whether it takes connections at its own port when absent. */
  readonly http?: HttpProbe;
}

export interface HttpProbe {
  readonly port: number;
  /** Begins with a slash. */
  readonly path: string;
  readonly secure: boolean;
  /** `probeTimeoutMs` when undefined. */
  readonly timeoutMs: number | undefined;
}

export type ProbeOutcome = "answered" | "refused" | "missed";

/** For the whole exchange, or the connection: the default of a readiness probe. */
export const probeTimeoutMs = 1_000;

/** As the proxy waits for a connection (proxy/server.conf). */
const probeConnectMs = 500;

/** A probe may be given minutes; by then an endpoint that is dead has cost too much. */
const probeTimeoutMaxMs = 5_000;

/** The connection was accepted, though not for HTTP. */
const takenAsWell: ReadonlySet<NetworkErrorCode> = new Set(["RESET", "NOT_HTTP"]);

export async function probeOnce(
  { network, timers }: Pick<Environment, "network" | "timers">,
  { address, port, http }: ProbeTarget,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const host = address.includes(":") ? `[${address}]` : address;
  const url =
    http === undefined
      ? `http://${host}:${port}/`
      : `${http.secure ? "https" : "http"}://${host}:${http.port}${http.path}`;
  const timeoutMs = Math.min(http?.timeoutMs ?? probeTimeoutMs, probeTimeoutMaxMs);
  // Without HTTP the answer does not matter: a connection that has not failed by then was accepted. It
  // fails after `probeConnectMs`, and a busy event loop may make that later.
  const deadlineMs = http === undefined ? probeTimeoutMs : timeoutMs;
  const deadline = new Deadline({ timers, deadlineMs, signal, what: url });
  try {
    const response = await network.request({
      method: "GET",
      url,
      headers: { "user-agent": "lockstep-probe", connection: "close" },
      // As the kubelet does: a probe proves life, not identity.
      tls: { insecureSkipVerify: true },
      // A machine that is gone is known at once, however long its program may think.
      connectTimeoutMs: probeConnectMs,
      signal: deadline.signal,
    });
    for await (const _ of response.body) break;
    const isFine = http === undefined || (response.status >= 200 && response.status < 400);
    return isFine ? "answered" : "missed";
  } catch (error) {
    signal.throwIfAborted();
    const anyTakerCounts = http === undefined;
    if (deadline.signal.aborted) return anyTakerCounts ? "answered" : "missed";
    return outcomeOf(error, anyTakerCounts);
  } finally {
    deadline.release();
  }
}

function outcomeOf(error: unknown, anyTakerCounts: boolean): ProbeOutcome {
  if (!(error instanceof NetworkError)) throw error;
  if (error.code === "REFUSED") return "refused";
  return anyTakerCounts && takenAsWell.has(error.code) ? "answered" : "missed";
}
