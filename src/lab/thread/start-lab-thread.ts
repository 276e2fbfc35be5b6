// Starts the thread in which the lab simulates. Its memory is bounded: a prediction that needs more ends
// the thread and not the program.
import { Worker } from "node:worker_threads";
import type { LabAnswer, StartLabThread } from "./lab-job.ts";

/** Threads run what is compiled: beside this file, or in the build when this one is a source. */
const program = import.meta.url.endsWith(".ts")
  ? new URL("../../../dist/src/lab/thread/lab-thread.js", import.meta.url)
  : new URL("./lab-thread.js", import.meta.url);

/** The largest incident needs about 1 GB. */
const memoryMaxMb = 2_048;

export const startLabThread: StartLabThread = ({ onAnswer, onEnded }) => {
  // The flags that the program itself was started with are not for its thread.
  const worker = new Worker(program, {
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: memoryMaxMb },
  });
  worker.on("message", (answer: LabAnswer) => onAnswer(answer));
  worker.on("error", (error) => onEnded(String(error)));
  worker.on("exit", (code) => onEnded(`its thread ended with code ${code}`));
  return {
    post: (request) => worker.postMessage(request),
    end: async () => {
      await worker.terminate();
    },
  };
};
