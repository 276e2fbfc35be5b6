// What a person reads for the direction of a change.
import type { Direction } from "../../../timeline/witness.ts";

export const directionNames: Readonly<Record<Direction, string>> = {
  leave: "removal",
  join: "addition",
};

/** Of the longest. */
export const directionNameColumns = 8;
