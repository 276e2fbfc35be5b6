// The real world: the one `Environment` that `main.ts` makes. Its pieces took the platform's
// functions at import, so they work on while a simulation replaces the ambient ones.
import type { Environment } from "../environment.ts";
import { nodeClock } from "./node-clock.ts";
import { nodeFiles } from "./node-files.ts";
import { type NodeLogOptions, nodeLog } from "./node-log.ts";
import { nodeNames } from "./node-names.ts";
import { nodeNetwork } from "./node-network.ts";
import { nodeProcesses } from "./node-processes.ts";
import { nodeProcessor } from "./node-processor.ts";
import { nodeRandom } from "./node-random.ts";
import { nodeTimers } from "./node-timers.ts";

export interface NodeEnvironmentOptions {
  readonly log?: NodeLogOptions;
}

export function nodeEnvironment(options: NodeEnvironmentOptions = {}): Environment {
  const log = nodeLog(options.log);
  return {
    clock: nodeClock,
    timers: nodeTimers,
    random: nodeRandom,
    network: nodeNetwork({ log }),
    names: nodeNames,
    files: nodeFiles,
    processes: nodeProcesses,
    processor: nodeProcessor,
    log,
  };
}
