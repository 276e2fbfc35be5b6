// Chance from the platform. The functions are taken at import: a simulation in the same process
// replaces the ambient ones.
import { randomUUID } from "node:crypto";
import type { Random } from "../random.ts";

const drawNumber = Math.random;

export const nodeRandom: Random = {
  next: () => drawNumber(),
  uuid: () => randomUUID(),
};
