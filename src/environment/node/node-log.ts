// The log on standard error: one JSON object a line for machines (pino), or one plain line for a
// person at a terminal. Both write at once, so that the last line before an exit is not lost.
import { writeSync } from "node:fs";
import pino from "pino";
import { type Clock, toMicroTime } from "../clock.ts";
import type { Log, LogFields, LogLevel } from "../log.ts";
import { nodeClock } from "./node-clock.ts";

export interface NodeLogOptions {
  /** Lines below this level are dropped; `info` unless given. A function is asked for each line. */
  readonly level?: LogLevel | (() => LogLevel);
  /** `text` when standard error is a terminal, else `json`. */
  readonly format?: "text" | "json";
  /** Takes each line with its newline; standard error unless given. */
  readonly write?: (line: string) => void;
  readonly clock?: Clock;
}

const levels: readonly LogLevel[] = ["debug", "info", "warn", "error"];

/** A field longer than this is cut in a plain line: the JSON form has the whole. */
const longestTextField = 2000;

export function nodeLog(options: NodeLogOptions = {}): Log {
  const { level = "info" } = options;
  const settings = {
    isShown: isShownFrom(typeof level === "function" ? level : () => level),
    write: options.write ?? writeToStandardError,
    clock: options.clock ?? nodeClock,
  };
  const format = options.format ?? (process.stderr.isTTY === true ? "text" : "json");
  return format === "text" ? textLog(settings, {}) : jsonLog(settings);
}

interface LogSettings {
  readonly isShown: (level: LogLevel) => boolean;
  readonly write: (line: string) => void;
  readonly clock: Clock;
}

function isShownFrom(lowest: () => LogLevel): LogSettings["isShown"] {
  return (level) => levels.indexOf(level) >= levels.indexOf(lowest());
}

function jsonLog({ isShown, write, clock }: LogSettings): Log {
  const logger = pino(
    {
      level: "debug",
      base: null,
      messageKey: "message",
      timestamp: () => `,"time":"${toMicroTime(clock.wallMs())}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write },
  );
  return pinoLog(logger, isShown);
}

function pinoLog(logger: pino.Logger, isShown: LogSettings["isShown"]): Log {
  const line =
    (level: LogLevel) =>
    (message: string, fields?: LogFields): void => {
      if (isShown(level)) logger[level](shownFields(fields ?? {}), message);
    };
  return {
    debug: line("debug"),
    info: line("info"),
    warn: line("warn"),
    error: line("error"),
    child: (fields) => pinoLog(logger.child(shownFields(fields)), isShown),
  };
}

function textLog(settings: LogSettings, context: LogFields): Log {
  const line =
    (level: LogLevel) =>
    (message: string, fields?: LogFields): void => {
      if (!settings.isShown(level)) return;
      const time = toMicroTime(settings.clock.wallMs()).slice(11, 23);
      const shown = Object.entries({ ...context, ...fields })
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => ` ${name}=${textField(value)}`);
      settings.write(`${time} ${level.toUpperCase().padEnd(5)} ${message}${shown.join("")}\n`);
    };
  return {
    debug: line("debug"),
    info: line("info"),
    warn: line("warn"),
    error: line("error"),
    child: (fields) => textLog(settings, { ...context, ...fields }),
  };
}

/** An error in a field of any name is written out. */
function shownFields(fields: LogFields): LogFields {
  const shown = Object.entries(fields).map(([name, value]): [string, unknown] => [
    name,
    value instanceof Error ? shownError(value) : value,
  ]);
  return Object.fromEntries(shown);
}

/** An expected failure has a code and is its message; anything else is our bug and keeps its stack. */
function shownError(error: Error): object {
  if (!("code" in error)) return pino.stdSerializers.errWithCause(error);
  return { type: error.name, code: error.code, message: messageWithCauses(error) };
}

function textField(value: unknown): string {
  const text = typeof value === "string" ? value : textOf(value);
  const clipped = text.length > longestTextField ? `${text.slice(0, longestTextField)}…` : text;
  // Quoted when it would not read as one word, or could forge a second line.
  return /^[^\s"=]+$/.test(clipped) ? clipped : JSON.stringify(clipped);
}

function textOf(value: unknown): string {
  if (value instanceof Error) return messageWithCauses(value);
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    // A cycle or a BigInt: a log line is never worth a crash.
    return String(value);
  }
}

/** The messages of an error and of what caused it, outermost first. */
function messageWithCauses(error: Error): string {
  const messages: string[] = [];
  const seen = new Set<unknown>();
  let at: unknown = error;
  while (at instanceof Error && !seen.has(at)) {
    seen.add(at);
    messages.push(at.message);
    at = at.cause;
  }
  return messages.join(": ");
}

function writeToStandardError(line: string): void {
  try {
    writeSync(process.stderr.fd, line);
  } catch (error) {
    // A full pipe or disk, or a reader that is gone, loses the line; the program is worth more than
    // its log.
    if (!(error instanceof Error && "code" in error)) throw error;
  }
}
