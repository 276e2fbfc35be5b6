// Everything that is not a pure function reaches the world through this, and through nothing else.
// `main.ts` makes the real one; the simulator makes one per simulated host. Parts take the narrow
// piece they need (`Clock`, `Timers`, …), not the whole.
import type { Clock } from "./clock.ts";
import type { Files } from "./files.ts";
import type { Log } from "./log.ts";
import type { Names } from "./names.ts";
import type { Network } from "./network.ts";
import type { Processes } from "./processes.ts";
import type { Processor } from "./processor.ts";
import type { Random } from "./random.ts";
import type { Timers } from "./timers.ts";

export interface Environment {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly network: Network;
  readonly names: Names;
  readonly files: Files;
  readonly processes: Processes;
  readonly processor: Processor;
  readonly log: Log;
}
