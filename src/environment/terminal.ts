// Where a command writes for the person who called it. Results go to `write`; progress and errors
// go to `writeError`, so that a pipe gets results only.

export interface Terminal {
  write(text: string): void;
  /** Bytes of `write` that wait in memory until they are read: the cost of a slow reader. */
  readonly pendingBytes: number;
  writeError(text: string): void;
  /**
   * Resolves when the reader has taken what was written, so that much output does not gather in
   * memory; rejects with `signal.reason` when that aborts. Absent where output is taken at once.
   */
  readonly drained?: (signal: AbortSignal) => Promise<void>;
  /** A person is looking: progress may redraw in place. */
  readonly interactive: boolean;
  /** Colours are wanted: interactive, and NO_COLOR is not set. */
  readonly colours: boolean;
  /** Both may change at any time, when the person makes the window larger or smaller. */
  readonly columns: number;
  readonly rows: number;
}
