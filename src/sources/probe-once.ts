// One probe of one endpoint: HTTP where its readiness probe is HTTP, judged as a kubelet judges;
// else whether it takes a connection. The network speaks HTTP only, so a program that speaks
// something else fails in a way that proves it was there.
import type { Environment } from "../environment/environment.ts";
import { NetworkError, type NetworkErrorCode } from "../environment/network.ts";
import { DeadlineExceededError } from "../kube/client/client.ts";
import { Deadline } from "../kube/client/deadline.ts";

export interface ProbeTarget {
  readonly cluster: string;
  /** The endpoint that is in doubt. */
  readonly address: string;
  readonly port: number;
  /** How to ask it; whether it takes connections at its own port when absent. */
  readonly http?: { readonly port: number; readonly path: string; readonly secure: boolean };
}

export type ProbeOutcome = "answered" | "refused" | "missed";

/** For the whole exchange: what a readiness probe has unless it says otherwise. */
export const probeTimeoutMs = 1_000;

/** Somebody took the connection, though not for HTTP. */
const takenAsWell: ReadonlySet<NetworkErrorCode> = new Set(["RESET", "TLS", "FAILED"]);

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
  const deadline = new Deadline({ timers, deadlineMs: probeTimeoutMs, signal, what: url });
  try {
    const response = await network.request({
      method: "GET",
      url,
      headers: { "user-agent": "lockstep-probe", connection: "close" },
      // As the kubelet does: a probe proves life, not identity.
      tls: { insecureSkipVerify: true },
      signal: deadline.signal,
    });
    for await (const _ of response.body) break;
    const isFine = http === undefined || (response.status >= 200 && response.status < 400);
    return isFine ? "answered" : "missed";
  } catch (error) {
    signal.throwIfAborted();
    return outcomeOf(error, http === undefined);
  } finally {
    deadline.release();
  }
}

function outcomeOf(error: unknown, anyTakerCounts: boolean): ProbeOutcome {
  if (error instanceof DeadlineExceededError) return "missed";
  if (!(error instanceof NetworkError)) throw error;
  if (error.code === "REFUSED") return "refused";
  return anyTakerCounts && takenAsWell.has(error.code) ? "answered" : "missed";
}
