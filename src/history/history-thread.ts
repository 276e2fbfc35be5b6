// Where the history's own thread begins.
import { parentPort } from "node:worker_threads";
import type { HistoryRequest } from "./history-port.ts";
import { historyService } from "./serve-history.ts";

const answer = historyService();
parentPort?.on("message", (request: HistoryRequest) => parentPort?.postMessage(answer(request)));
