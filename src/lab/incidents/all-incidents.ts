// Every incident that can be run, in the order in which they are shown.
import { apiserverFight } from "./apiserver-fight/play.ts";
import { ghostLeader } from "./ghost-leader/play.ts";
import { heartbeatFlap } from "./heartbeat-flap/play.ts";
import type { Incident } from "./incident.ts";
import { resyncStorm } from "./resync-storm/play.ts";
import { throttledController } from "./throttled-controller/play.ts";

export const allIncidents: readonly Incident[] = [
  apiserverFight,
  resyncStorm,
  throttledController,
  ghostLeader,
  heartbeatFlap,
];
