// Reasons to stop this process: a signal, the end of its terminal or of the npx that started it,
// and output without a reader. The first request stops it properly; a second signal, from an
// impatient user, ends it at once. So does the first one once the command has returned.
import { fstatSync } from "node:fs";
import { isatty } from "node:tty";
import { type Clock, elapsedMs, type MonotonicMs } from "../clock.ts";

/** The part of `process` that is needed. */
export interface StoppableProcess {
  readonly ppid: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream & { write(text: string): unknown };
  on(signal: NodeJS.Signals, listener: () => void): unknown;
  exit(code?: number): unknown;
}

interface OutputStream {
  on(event: "error", listener: (error: NodeJS.ErrnoException) => void): unknown;
}

export interface StopOptions {
  readonly process: StoppableProcess;
  readonly clock: Clock;
  /** Aborted by the first request. */
  readonly stop: AbortController;
  /** Whether a descriptor is a terminal now; the system's answer unless given. */
  readonly isTerminal?: (descriptor: number) => boolean;
  /** Whether standard output and error are one pipe or file (`2>&1`); the system's answer unless given. */
  readonly isOneOutput?: () => boolean;
}

export interface StopRequests {
  /** Where standard output cannot be written, this goes before the command's own code. */
  readonly exitCode: 0 | 2 | undefined;
  /** From now on nothing is left to stop: a signal ends the process. */
  commandReturned(): void;
}

/**
 * Ctrl-C reaches every process of a terminal, and npm hands on what it gets: within so long two
 * signals are one request.
 */
const oneRequestMs = 500;

/** Often enough to look immediate, seldom enough to cost nothing. */
const lookEveryMs = 500;

/** How long a command may take to end what it has started when its output has no reader. */
const endUnreadMs = 60_000;

/** The shell's exit code after Ctrl-C. */
const impatientCode = 130;

/** Standard output and error: a terminal that only gives input may end, as behind `disown`. */
const outputs = [1, 2];

/** The reader of a pipe has ended (`lockstep … | head`), or the terminal has. */
const closedCodes: ReadonlySet<string | undefined> = new Set(["EPIPE", "EIO"]);

/** Taken at import: a simulation in the same process replaces the ambient ones. */
const realSetInterval = setInterval;
const realSetTimeout = setTimeout;

export function stopOnRequest(options: StopOptions): StopRequests {
  const { process, stop, isTerminal = isatty } = options;
  let hasReturned = false;
  stopOnSignals(options, isTerminal, () => hasReturned);
  if (process.env["npm_command"] === "exec") {
    const parent = process.ppid;
    // Between npx and this process is a shell, which dies of a signal without handing it on.
    stopWhen(() => process.ppid !== parent, "stopped because npx ended", stop);
  }
  // A background job gets no signal when its terminal ends.
  const shown = outputs.filter(isTerminal);
  if (shown.length > 0) {
    stopWhen(() => !shown.some(isTerminal), "stopped because the terminal closed", stop);
  }
  const exitCode = stopWhenUnread(options);
  return {
    get exitCode() {
      return exitCode();
    },
    commandReturned: () => {
      hasReturned = true;
    },
  };
}

function stopOnSignals(
  { process, clock, stop }: StopOptions,
  isTerminal: (descriptor: number) => boolean,
  hasReturned: () => boolean,
): void {
  let askedAt: MonotonicMs | undefined;
  // Node forgets that nohup has SIGHUP ignored; but nohup also takes the terminal away.
  const isAttached = [0, ...outputs].some(isTerminal);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      if (signal === "SIGHUP" && !isAttached) return;
      if (hasReturned()) process.exit();
      const now = clock.monotonicMs();
      askedAt ??= now;
      if (elapsedMs(askedAt, now) > oneRequestMs) process.exit(impatientCode);
      stop.abort(new Error(`stopped by ${signal}`));
    });
  }
}

function stopWhen(isOver: () => boolean, reason: string, stop: AbortController): void {
  const looking = realSetInterval(() => {
    if (!isOver()) return;
    clearInterval(looking);
    stop.abort(new Error(reason));
  }, lookEveryMs);
  // It is no reason to stay when everything else is done.
  looking.unref();
}

/**
 * Results without a reader are useless, so the command is stopped as by Ctrl-C: it may have started
 * others. A log without a reader is no reason to stop.
 */
function stopWhenUnread({
  process,
  stop,
  isOneOutput = haveOneOutput,
}: StopOptions): () => StopRequests["exitCode"] {
  let exitCode: StopRequests["exitCode"];
  const onError = (error: NodeJS.ErrnoException): void => {
    if (exitCode !== undefined) return;
    exitCode = closedCodes.has(error.code) ? 0 : 2;
    if (exitCode !== 0) {
      process.stderr.write(`lockstep: the output cannot be written: ${error.message}\n`);
    }
    stop.abort(new Error("standard output was closed", { cause: error }));
    // The error may come after the command has returned: then the process ends by itself at once.
    realSetTimeout(() => process.exit(exitCode), endUnreadMs).unref();
  };
  process.stdout.on("error", onError);
  process.stderr.on("error", (error) => {
    if (isOneOutput()) onError(error);
  });
  return () => exitCode;
}

function haveOneOutput(): boolean {
  const [output, errors] = [fstatSync(1), fstatSync(2)];
  return output.dev === errors.dev && output.ino === errors.ino;
}
