// A pod's log as it grows, over the API. A stream that ends (the API server turned the connection
// over, the container restarted) is asked for again from the last line's time on; the API cuts that
// to whole seconds, so lines that were there before are left out by the stamp that each one carries.
import type { Environment } from "../environment/environment.ts";
import { LineSplitter } from "../environment/line-splitter.ts";
import { type KubeClient, StatusError } from "../kube/client/client.ts";
import { Backoff } from "../kube/reflector/backoff.ts";
import { type LogLine, lineBytesMax } from "./access-log-parser.ts";

export interface PodLogOptions extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly pod: string;
  /** The pod's only one, or the one that its annotation names, unless given. */
  readonly container?: string | undefined;
  /** Aborting it ends the lines. */
  readonly signal: AbortSignal;
  /** Whether lines are being received: while not, nothing is known of what the pod logs. */
  readonly onConnected?: (isConnected: boolean) => void;
}

export class PodLogError extends Error {
  override readonly name = "PodLogError";
  readonly code = "POD_LOG";
}

const headersDeadlineMs = 30_000;

/**
 * Final answers, before the log was ever read. Later ones are temporary: a container that is being
 * restarted has no log for a while (400), a token is renewed.
 */
const finalStatuses = new Set([400, 401, 403, 404]);

/** The stamp of a line with its fraction filled up, so that texts compare as times do. */
const stampPattern = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:\d{2}) /;

/** How far the stream has been delivered. */
interface Place {
  /** As the API takes it; undefined before anything is known. */
  since: string | undefined;
  /** The newest stamp, and how many lines with it were delivered. */
  stamp: string;
  count: number;
  /** Some stream was opened. */
  wasRead: boolean;
}

/** Each line begins with its stamp. Ends when the signal aborts or the pod is gone. */
export async function* podLogLines(options: PodLogOptions): AsyncGenerator<LogLine> {
  const { signal, timers, onConnected, log, pod, namespace } = options;
  const backoff = new Backoff(options);
  const place: Place = { since: undefined, stamp: "", count: 0, wasRead: false };
  let number = 0;
  while (!signal.aborted) {
    try {
      for await (const line of oneStream(options, place)) {
        number += 1;
        yield { ...line, number };
      }
      log.debug("the log stream of a pod ended; reopening it", { namespace, pod });
    } catch (error) {
      if (signal.aborted) return;
      // It was there when we began: it has been deleted, and that is an end like any other.
      if (place.wasRead && error instanceof StatusError && error.code === 404) return;
      if (!place.wasRead && error instanceof StatusError && finalStatuses.has(error.code)) {
        throw new PodLogError(refusal(options, error), { cause: error });
      }
      log.debug("the log stream of a pod broke", { namespace, pod, error });
    } finally {
      onConnected?.(false);
    }
    if (!(await slept(timers, backoff.next(), signal))) return;
  }
}

/** As chunks, for readers that treat every log in the same way. */
export async function* podLogChunks(options: PodLogOptions): AsyncGenerator<Uint8Array> {
  for await (const { text } of podLogLines(options)) yield Buffer.from(`${text}\n`);
}

async function* oneStream(options: PodLogOptions, place: Place): AsyncGenerator<LogLine> {
  const { client, signal, onConnected } = options;
  const response = await client.stream({
    verb: "watch",
    method: "GET",
    path: logPath(options, place),
    deadlineMs: headersDeadlineMs,
    signal,
  });
  onConnected?.(true);
  place.wasRead = true;
  // By the server's clock: later lines are requested from here if no line has a better time.
  place.since ??= secondsOf(response.headers["date"]);
  const seen = { stamp: place.stamp, count: place.count };
  const splitter = new LineSplitter({ bytesMax: lineBytesMax });
  try {
    for await (const chunk of response.body) {
      for (const { number, text, isCut } of splitter.push(chunk)) {
        if (isNew(text, seen, place)) yield { number, text, isCut };
      }
    }
  } catch (error) {
    if (signal.aborted) return;
    throw error;
  }
}

function logPath({ namespace, pod, container }: PodLogOptions, { since }: Place): string {
  const query = new URLSearchParams({ follow: "true", timestamps: "true" });
  if (container !== undefined) query.set("container", container);
  if (since === undefined) query.set("tailLines", "0");
  else query.set("sinceTime", since);
  return `/api/v1/namespaces/${namespace}/pods/${pod}/log?${query}`;
}

/** Moves the place on, unless the line was delivered before; `seen` counts those down. */
function isNew(text: string, seen: { stamp: string; count: number }, place: Place): boolean {
  const match = stampPattern.exec(text);
  if (match === null) return true;
  const [, seconds = "", fraction = "", zone = "Z"] = match;
  const stamp = `${seconds}.${fraction.padEnd(9, "0")}`;
  if (stamp < seen.stamp) return false;
  if (stamp === seen.stamp && seen.count > 0) {
    seen.count -= 1;
    return false;
  }
  place.count = stamp === place.stamp ? place.count + 1 : 1;
  place.stamp = stamp;
  place.since = `${seconds}${zone}`;
  return true;
}

function secondsOf(date: string | undefined): string | undefined {
  const ms = Date.parse(date ?? "");
  return Number.isNaN(ms) ? undefined : `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

function refusal({ namespace, pod }: PodLogOptions, { code, message }: StatusError): string {
  const what = `the log of pod ${namespace}/${pod}`;
  if (code === 403 || code === 401) {
    return `${what} may not be read: it takes the right to get pods/log there (${message})`;
  }
  return `${what} cannot be read: ${message}`;
}

/** False when it is time to end. */
async function slept(
  timers: Environment["timers"],
  delayMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await timers.sleep(delayMs, signal);
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}
