// One address and port of a service, and its lines: one for each pod that has or had the address,
// and one for witnesses that know addresses only, in one cluster or in any. An address passes from
// pod to pod. A witness of addresses shows a change only when the address gets its first owner or
// loses its last.
import { assert } from "../environment/assert.ts";
import type { Change } from "./change.ts";
import { Line } from "./line.ts";
import type { Direction, WitnessedEndpoint } from "./witness.ts";

export class Place {
  /** Invariant: each is of one pod. */
  readonly pods: Line[] = [];
  /** Invariant: each is of one cluster, or of any, and of no pod. */
  readonly addresses: Line[] = [];

  get lines(): readonly Line[] {
    return this.addresses.length === 0 ? this.pods : [...this.pods, ...this.addresses];
  }

  find(endpoint: WitnessedEndpoint): Line | undefined {
    const { podUid, cluster } = endpoint;
    return podUid === undefined
      ? this.addresses.find((line) => line.endpoint.cluster === cluster)
      : this.pods.find((line) => line.endpoint.podUid === podUid);
  }

  add(endpoint: WitnessedEndpoint): Line {
    assert(this.find(endpoint) === undefined, "a place has one line of each pod or cluster");
    const line = new Line(endpoint, this);
    (endpoint.podUid === undefined ? this.addresses : this.pods).push(line);
    return line;
  }

  remove(line: Line): void {
    const lines = line.endpoint.podUid === undefined ? this.addresses : this.pods;
    const index = lines.indexOf(line);
    if (index !== -1) lines.splice(index, 1);
  }

  /** The lines of addresses that show the changes of this line as well. */
  coveringOf(line: Line): readonly Line[] {
    return this.addresses.filter((one) => covers(one, line));
  }

  coveredBy(line: Line): readonly Line[] {
    return line.endpoint.podUid === undefined ? this.lines.filter((one) => covers(line, one)) : [];
  }

  /**
   * The changes that witnesses of the line can show, oldest first: of a pod its own, of an address those
   * after which another answer holds to whether anything has it.
   */
  changesOf(line: Line, references: References): readonly Change[] {
    const covered = this.coveredBy(line);
    if (covered.length === 0) return line.own;
    const [only] = covered;
    if (covered.length === 1 && only !== undefined && line.own.length === 0) return only.own;
    return unionOf([line, ...covered], references);
  }
}

/** The references' view of lines. */
export interface References {
  /** Whether a reference reports the line itself, and not only pods that have the address. */
  readonly isReported: (line: Line) => boolean;
  readonly stateOf: (line: Line) => Direction;
}

function covers(address: Line, line: Line): boolean {
  if (address === line || address.endpoint.podUid !== undefined) return false;
  const { cluster } = address.endpoint;
  if (cluster === undefined) return true;
  return line.endpoint.podUid !== undefined && line.endpoint.cluster === cluster;
}

function unionOf(lines: readonly Line[], references: References): readonly Change[] {
  const reported = lines.filter(references.isReported);
  const holders = new Set(reported.filter((line) => hadBefore(line, references)));
  const all = lines.flatMap(({ own }) => own).sort((a, b) => a.id - b.id);
  return all.filter(({ line, direction, isDisagreement }) => {
    const before = holders.size > 0;
    if (isDisagreement) return before === (direction === "join");
    // Shown by proxies before a cluster reported the address: the pods say now who has it.
    if (!reported.includes(line)) return false;
    if (direction === "join") holders.add(line);
    else holders.delete(line);
    return before !== holders.size > 0;
  });
}

/** Whether it had the address before the first change that is known. */
function hadBefore(line: Line, { stateOf }: References): boolean {
  const first = line.own.find(({ isDisagreement }) => !isDisagreement);
  return (first === undefined ? stateOf(line) : first.direction) === (first ? "leave" : "join");
}
