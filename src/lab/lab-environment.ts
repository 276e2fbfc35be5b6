// The pieces of the environment that the parts of a cluster need: no files and no processes, so that
// a whole cluster runs inside one process, real or simulated.
import type { Environment } from "../environment/environment.ts";

export type LabEnvironment = Pick<Environment, "clock" | "timers" | "random" | "network" | "log">;
