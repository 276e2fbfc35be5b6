// Where each witness stands with regard to the changes of a line, and whether its endpoint is there by its
// reference. Questions only; nothing is changed here.
import type { Change } from "./change.ts";
import { Expectations } from "./expectations.ts";
import type { Cursor, Line } from "./line.ts";
import type { References } from "./place.ts";
import { Places } from "./places.ts";
import type { Direction, Witness } from "./witness.ts";

/** A cursor and the line that it is on: of the pod, or of its address. */
export interface Standing {
  readonly line: Line;
  readonly cursor: Cursor;
}

export class Standings implements References {
  readonly places = new Places();
  readonly expectations = new Expectations();

  /** The changes that witnesses of the line can show, oldest first. */
  changesOf(line: Line): readonly Change[] {
    return line.place.changesOf(line, this);
  }

  expectedAt(line: Line): readonly Witness[] {
    return this.expectations.of(line.endpoint);
  }

  /** Those that are expected to show it; of an address that no cluster reports, those that have. */
  expectedOf({ line }: Change): readonly Witness[] {
    const expected = this.expectedAt(line);
    if (this.isReported(line)) return expected;
    return expected.filter((one) => one.hop === "traffic" || line.cursorOf(one) !== undefined);
  }

  /** The witness whose steps are the line's changes: the nearest to the pod. */
  referenceOf(line: Line): Witness | undefined {
    return this.expectations.referenceOf(line.endpoint);
  }

  /** Whether the reference reports this line, and not only pods that have the address. */
  readonly isReported = (line: Line): boolean => {
    if (line.endpoint.podUid !== undefined) return true;
    const reference = this.referenceOf(line);
    return reference !== undefined && line.cursorOf(reference) !== undefined;
  };

  /** Whether the endpoint is there, by its reference; of an address, whether anything has it. */
  readonly stateOf = (line: Line): Direction => {
    const reference = this.referenceOf(line);
    const own =
      reference === undefined ? line.own.at(-1)?.direction : line.cursorOf(reference)?.direction;
    if (own === "join") return "join";
    const covered = line.place.coveredBy(line);
    return covered.some((one) => this.stateOf(one) === "join") ? "join" : "leave";
  };

  /** Where the witness stands with regard to the change; undefined where it is on no line of it. */
  standingOf({ line }: Pick<Change, "line">, witness: Witness): Standing | undefined {
    const own = line.cursorOf(witness);
    if (own !== undefined && own.origin !== "assumed") return { line, cursor: own };
    for (const address of line.place.coveringOf(line)) {
      const cursor = address.cursorOf(witness);
      if (cursor !== undefined) return { line: address, cursor };
    }
    return own && { line, cursor: own };
  }

  /** It has shown the change or passed it, or cannot show it: others have the address as well. */
  isDone(change: Change, witness: Witness): boolean {
    const standing = this.standingOf(change, witness);
    if (standing === undefined) {
      // One that reports pods by name stands on their lines instead.
      const covered = change.line.place.coveredBy(change.line);
      return covered.some((one) => one.cursorOf(witness) !== undefined);
    }
    if (standing.cursor.through >= change.id) return true;
    return standing.line !== change.line && !this.changesOf(standing.line).includes(change);
  }
}
