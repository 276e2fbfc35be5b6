// Starts the thread in which libsql works, so that a slow disk never delays what is observed.
import { Worker } from "node:worker_threads";
import type { HistoryAnswer, StartHistoryThread } from "./history-port.ts";

/** Threads run what is compiled: beside this file, or in the build when this one is a source. */
const program = import.meta.url.endsWith(".ts")
  ? new URL("../../dist/src/history/history-thread.js", import.meta.url)
  : new URL("./history-thread.js", import.meta.url);

export const startHistoryThread: StartHistoryThread = ({ onAnswer, onEnded }) => {
  // The flags that the program itself was started with are not for its thread.
  const worker = new Worker(program, { execArgv: [] });
  worker.on("message", (answer: HistoryAnswer) => onAnswer(answer));
  worker.on("error", (error) => onEnded(String(error)));
  worker.on("exit", (code) => onEnded(`its thread ended with code ${code}`));
  return {
    post: (request) => worker.postMessage(request),
    end: async () => {
      await worker.terminate();
    },
  };
};
