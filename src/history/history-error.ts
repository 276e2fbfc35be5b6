// Why a history cannot be used, in words for the person who named the file. The file itself is left
// as it is: a history is never made over something that is not one.

export type HistoryErrorCode =
  /** Another process writes it. */
  | "IN_USE"
  | "MISSING"
  /** A file of something else. */
  | "NOT_A_HISTORY"
  /** Written by a Lockstep that keeps more than this one knows. */
  | "NEWER"
  /** To be brought up to date by a writer first. */
  | "OLDER"
  | "DAMAGED"
  | "CANNOT_OPEN";

export class HistoryError extends Error {
  override readonly name = "HistoryError";
  readonly code: HistoryErrorCode;

  constructor(code: HistoryErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
