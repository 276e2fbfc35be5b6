// What asks this process to stop: a signal, or the end of the npx that started it. The first request
// stops it properly; a second one, from somebody who has no more patience, ends it as it stands.
import { type Clock, elapsedMs, type MonotonicMs } from "../clock.ts";

/** What is needed of `process`. */
export interface StoppableProcess {
  readonly ppid: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  on(signal: NodeJS.Signals, listener: () => void): unknown;
  exit(code: number): unknown;
}

export interface StopOptions {
  readonly process: StoppableProcess;
  readonly clock: Clock;
  /** Aborted by the first request. */
  readonly stop: AbortController;
}

/**
 * Ctrl-C reaches every process of a terminal, and npm hands on what it gets: within so long two
 * signals are one request.
 */
const oneRequestMs = 500;

/** Often enough that nobody wonders, seldom enough to cost nothing. */
const parentEveryMs = 500;

/** As a shell says of whoever was ended by Ctrl-C. */
const impatientCode = 130;

/** Taken at import: a simulation in the same process replaces the ambient one. */
const realSetInterval = setInterval;

export function stopOnRequest({ process, clock, stop }: StopOptions): void {
  let askedAt: MonotonicMs | undefined;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      const now = clock.monotonicMs();
      askedAt ??= now;
      if (elapsedMs(askedAt, now) > oneRequestMs) process.exit(impatientCode);
      stop.abort(new Error(`stopped by ${signal}`));
    });
  }
  if (process.env["npm_command"] === "exec") stopWithParent(process, stop);
}

/** Between npx and this process is a shell, which dies of a signal without handing it on. */
function stopWithParent(process: StoppableProcess, stop: AbortController): void {
  const parent = process.ppid;
  const looking = realSetInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(looking);
    stop.abort(new Error("stopped by the end of npx"));
  }, parentEveryMs);
  // It is no reason to stay when everything else is done.
  looking.unref();
}
