// Every incident that can be run, in the order in which they are shown.
import { apiserverFight } from "./apiserver-fight.ts";
import { ghostLeader } from "./ghost-leader.ts";
import { heartbeatFlap } from "./heartbeat-flap.ts";
import type { Incident } from "./incident.ts";
import { resyncStorm } from "./resync-storm.ts";
import { throttledController } from "./throttled-controller.ts";

export const allIncidents: readonly Incident[] = [
  apiserverFight,
  resyncStorm,
  throttledController,
  ghostLeader,
  heartbeatFlap,
];
