// The thread's side: does what it is asked, one request after the other, and answers each.
import { HistoryError } from "./history-error.ts";
import type { HistoryAnswer, HistoryRequest } from "./history-port.ts";
import { HistoryWriteError, HistoryWriter } from "./history-writer.ts";

/** Of one history: the first request opens it. */
export function historyService(): (request: HistoryRequest) => HistoryAnswer {
  let writer: HistoryWriter | undefined;
  const opened = (): HistoryWriter => {
    if (writer === undefined) throw new Error("the history is not open");
    return writer;
  };
  return (request) => {
    try {
      switch (request.type) {
        case "open":
          writer = new HistoryWriter(request.options);
          return { type: "opened", left: writer.left };
        case "write":
          if (request.emptyLog) opened().emptyLog();
          return { type: "written", removed: opened().write(request.batch) };
        case "tidy":
          return { type: "tidied", ...opened().tidy(request.nowMs) };
        case "close":
          writer?.close();
          writer = undefined;
          return { type: "closed" };
      }
    } catch (error) {
      if (error instanceof HistoryError) {
        return { type: "not opened", code: error.code, message: error.message };
      }
      if (error instanceof HistoryWriteError) {
        return { type: "refused", refusal: error.code, message: error.message };
      }
      throw error;
    }
  };
}
