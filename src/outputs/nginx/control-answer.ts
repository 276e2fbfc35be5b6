// Answers of the control socket, checked: what is missing or refused is a `ControlError` whose code
// says what to do about it.
import { NetworkError } from "../../environment/network.ts";
import { isRecord } from "../../kube/kinds/fields.ts";

export type ControlErrorCode =
  /** No process listens at the socket. */
  | "SILENT"
  /** A process does, but the exchange failed or took too long. */
  | "FAILED"
  /** nginx was restarted: load everything again. */
  | "BOOT"
  /** Another pusher is in charge. */
  | "EPOCH"
  /** The load this belongs to is no longer the newest, or there was none. */
  | "LOAD"
  /** Its shared memory is full. */
  | "NO_MEMORY"
  /** It refuses what it was sent. */
  | "MALFORMED";

export class ControlError extends Error {
  override readonly name = "ControlError";
  readonly code: ControlErrorCode;

  constructor(code: ControlErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

export type Answer = Readonly<Record<string, unknown>>;

/** nginx's own answer to a body beyond its limit. */
const tooLarge = 413;

const refusals: ReadonlySet<string> = new Set(["BOOT", "EPOCH", "LOAD", "NO_MEMORY", "MALFORMED"]);

/** The answer to a request; a refusal is thrown. */
export function answerOf(what: string, status: number, body: string): Answer {
  if (status === tooLarge) throw new ControlError("MALFORMED", `${what}: the body is too large`);
  const answer: unknown = JSON.parse(body);
  if (!isRecord(answer)) throw new ControlError("FAILED", `${what}: the answer is not an object`);
  if (status < 300) return answer;
  const { code, message } = answer;
  const text = `${what}: ${status} ${typeof message === "string" ? message : ""}`;
  throw new ControlError(isRefusal(code) ? code : "FAILED", text);
}

function isRefusal(code: unknown): code is ControlErrorCode {
  return typeof code === "string" && refusals.has(code);
}

/** A failure of any kind as one that names the request. */
export function controlError(what: string, error: unknown): ControlError {
  if (error instanceof ControlError) return error;
  if (error instanceof NetworkError && error.code === "REFUSED") {
    return new ControlError("SILENT", `${what}: connection to the control socket refused`, {
      cause: error,
    });
  }
  const why = error instanceof Error ? error.message : String(error);
  // A deadline names the request itself.
  const message = why.startsWith(`${what}: `) ? why : `${what}: ${why}`;
  return new ControlError("FAILED", message, { cause: error });
}

export function wholeAt(record: Answer, field: string): number {
  const value = record[field];
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw new ControlError("FAILED", `the answer has no number ${field}`);
}

export function textAt(record: Answer, field: string): string {
  const value = record[field];
  if (typeof value === "string") return value;
  throw new ControlError("FAILED", `the answer has no text ${field}`);
}

/** Lua cannot tell an empty list from an empty object. */
export function itemsAt(record: Answer, field: string): readonly unknown[] {
  const value = record[field];
  return Array.isArray(value) ? value : [];
}
