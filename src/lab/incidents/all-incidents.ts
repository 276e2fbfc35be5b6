// Every incident that can be run, in the order in which they are shown.
import type { Incident } from "./incident.ts";
import { throttledController } from "./throttled-controller.ts";

export const allIncidents: readonly Incident[] = [throttledController];
