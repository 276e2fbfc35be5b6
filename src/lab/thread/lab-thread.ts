// Where the lab's own thread begins.
import { parentPort } from "node:worker_threads";
import { nodeClock } from "../../environment/node/node-clock.ts";
import type { LabRequest } from "./lab-job.ts";
import { labService } from "./serve-lab-jobs.ts";

const serve = labService({ clock: nodeClock, answer: (one) => parentPort?.postMessage(one) });
parentPort?.on("message", (request: LabRequest) => serve(request));
