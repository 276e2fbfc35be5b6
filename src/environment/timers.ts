// Every wait in the program goes through here, so that in a simulation virtual time can pass.

export type CancelTimer = () => void;

export interface Timers {
  /** Calls back once after the delay unless cancelled first. A negative delay counts as zero. */
  after(delayMs: number, callback: () => void): CancelTimer;

  /** Resolves after the delay; rejects with `signal.reason` as soon as the signal aborts. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;

  /** Lets other work run before continuing: long computations call it to keep the loop turning. */
  breathe(): Promise<void>;
}
