// Where a watch shows what it sees: a live screen, plain lines or JSON lines.
import type { Environment } from "../../../environment/environment.ts";
import type { Terminal } from "../../../environment/terminal.ts";
import type { JourneyEvent } from "../../../timeline/journey-event.ts";
import type { ObserverRun } from "../../../timeline/journey-record.ts";
import type { Picture } from "./picture.ts";

export interface WatchOutput {
  /** Called synchronously with every step of every journey, after it has been counted. */
  onEvent(event: JourneyEvent): void;
  start(): void;
  /** Something changed that is no change of an endpoint: a screen is drawn again. */
  redraw?(): void;
  /** Says what was seen in all; nothing is written after it. Idempotent. */
  end(): void;
}

export interface WatchOutputOptions extends Pick<Environment, "clock" | "timers"> {
  readonly terminal: Terminal;
  readonly run: ObserverRun;
  /** A look at everything, which costs more than a line does. */
  readonly picture: () => Picture;
  readonly slowMs: number;
  readonly utc: boolean;
}
