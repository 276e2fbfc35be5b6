// The requests that a log entry tells of, with the time each was sent to its endpoint. Pure. A proxy
// writes down when the request was over and how long everything took; a try began when those before
// it had ended. Of whole seconds the middle is taken, which is wrong by half a second at most.
import type { AccessLogEntry, LoggedTry } from "../../access-log/access-log-entry.ts";
import type { WallMs } from "../../environment/clock.ts";

export interface RequestTry {
  readonly service: string | undefined;
  readonly address: string;
  readonly port: number;
  /** By the proxy's clock. */
  readonly sentMs: WallMs;
  /** The endpoint did not answer: refused, reset, timed out. */
  readonly failed: boolean;
}

/** The status nginx logs for an endpoint that refuses, breaks off or does not answer. */
const notAnswered = new Set([502, 504]);

export function requestTries(entry: AccessLogEntry): readonly RequestTry[] {
  const { endedMs, resolutionMs, durationMs, service, tries } = entry;
  const triedMs = tries.reduce((sum, one) => sum + (one.durationMs ?? 0), 0);
  const over = endedMs + Math.floor((resolutionMs - 1) / 2);
  let sent = over - (durationMs ?? triedMs);
  return tries.map((one): RequestTry => {
    const { address, port } = one;
    const sentMs = sent as WallMs;
    sent += one.durationMs ?? 0;
    return { service, address, port, sentMs, failed: isFailed(one) };
  });
}

/** A status that the endpoint sent itself is an answer, whatever it says. */
function isFailed({ status, answered }: LoggedTry): boolean {
  return status !== undefined && notAnswered.has(status) && answered !== true;
}
