// Refusals of an API server, or of something in front of it, as `StatusError`. The server sends a
// `Status` object; a proxy sends what it likes, of which the beginning is shown.
import type { WallMs } from "../../environment/clock.ts";
import type { Headers } from "../../environment/network.ts";
import { isRecord, type RawRecord } from "../kinds/fields.ts";
import { StatusError } from "./client.ts";

/** A proxy's error page says what it has to say in its first lines. */
const longestExcerpt = 300;

export interface Refusal {
  /** The request: `GET /api/v1/pods`. */
  readonly what: string;
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
  /** When it arrived, for a `Retry-After` that is a date. */
  readonly now: WallMs;
}

export function statusError(refusal: Refusal): StatusError {
  const status = parseStatus(refusal.body);
  const details = isRecord(status?.["details"]) ? status["details"] : {};
  const message = status?.["message"];
  return new StatusError({
    code: refusal.status,
    reason: typeof status?.["reason"] === "string" ? status["reason"] : "",
    message: typeof message === "string" && message !== "" ? message : excerpt(refusal),
    retryAfterMs: headerRetryAfterMs(refusal) ?? detailsRetryAfterMs(details),
    causes: causesOf(details),
  });
}

function parseStatus(body: Buffer): RawRecord | undefined {
  // Anything else is not worth an attempt: an error page can be long.
  if (body[0] !== "{".charCodeAt(0)) return undefined;
  try {
    const parsed: unknown = JSON.parse(body.toString("utf8"));
    return isRecord(parsed) && parsed["kind"] === "Status" ? parsed : undefined;
  } catch {
    // Cut off or not JSON after all; the excerpt shows it.
    return undefined;
  }
}

function excerpt({ what, status, body }: Refusal): string {
  const text = body.toString("utf8").replace(/\s+/g, " ").trim();
  const shown = text.length > longestExcerpt ? `${text.slice(0, longestExcerpt)}…` : text;
  return `${what} was answered with ${status}: ${shown === "" ? "(no body)" : shown}`;
}

/** Seconds, or an HTTP date; a date in the past means now. */
function headerRetryAfterMs({ headers, now }: Refusal): number | undefined {
  const text = headers["retry-after"]?.trim();
  if (text === undefined || text === "") return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

function detailsRetryAfterMs(details: RawRecord): number | undefined {
  const seconds = details["retryAfterSeconds"];
  return typeof seconds === "number" && seconds > 0 ? seconds * 1000 : undefined;
}

function causesOf(details: RawRecord): readonly string[] {
  const causes = details["causes"];
  if (!Array.isArray(causes)) return [];
  return causes.flatMap((cause: unknown) =>
    isRecord(cause) && typeof cause["reason"] === "string" ? [cause["reason"]] : [],
  );
}
