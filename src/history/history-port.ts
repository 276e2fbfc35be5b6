// Requests and answers of the history's thread. One request is running at a time and gets one
// answer, so neither side numbers them.
import type { JourneyRecord } from "../timeline/journey-record.ts";
import type { HistoryErrorCode } from "./history-error.ts";
import type { RetentionStep } from "./history-retention.ts";
import type { HistoryWriterOptions, Refusal } from "./history-writer.ts";

export type HistoryRequest =
  | { readonly type: "open"; readonly options: HistoryWriterOptions }
  /** Journeys as JSON; the log is emptied first when it has become too large. */
  | { readonly type: "write"; readonly batch: readonly string[]; readonly emptyLog: boolean }
  | { readonly type: "tidy"; readonly nowMs: number }
  | { readonly type: "close" };

export type HistoryAnswer =
  | { readonly type: "opened"; readonly left: readonly JourneyRecord[] }
  | { readonly type: "not opened"; readonly code: HistoryErrorCode; readonly message: string }
  /** And how many of the oldest went for them. */
  | { readonly type: "written"; readonly removed: number }
  | ({ readonly type: "tidied" } & RetentionStep)
  | { readonly type: "refused"; readonly refusal: Refusal; readonly message: string }
  | { readonly type: "closed" };

/** The side that asks. */
export interface HistoryPort {
  post(request: HistoryRequest): void;
  /** Ends the thread, whatever it does. */
  end(): Promise<void>;
}

export interface HistoryPortEvents {
  readonly onAnswer: (answer: HistoryAnswer) => void;
  /** The thread ended by itself: nothing will be answered any more. */
  readonly onEnded: (why: string) => void;
}

export type StartHistoryThread = (events: HistoryPortEvents) => HistoryPort;
