// One address and port of a service, and the lines there: one for each pod that has or had the address,
// and one for witnesses that know addresses only, in one cluster or in any. An address passes from pod
// to pod; such a witness shows a change only where it begins or ends that anybody has the address.
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
    const line = new Line(endpoint);
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
   * after which another answer holds to whether anybody has it.
   */
  changesOf(line: Line, stateOf: (line: Line) => Direction): readonly Change[] {
    const covered = this.coveredBy(line);
    if (covered.length === 0) return line.own;
    const [only] = covered;
    if (covered.length === 1 && only !== undefined && line.own.length === 0) return only.own;
    return unionOf([line, ...covered], stateOf);
  }
}

function covers(address: Line, line: Line): boolean {
  if (address === line || address.endpoint.podUid !== undefined) return false;
  const { cluster } = address.endpoint;
  if (cluster === undefined) return true;
  return line.endpoint.podUid !== undefined && line.endpoint.cluster === cluster;
}

function unionOf(lines: readonly Line[], stateOf: (line: Line) => Direction): readonly Change[] {
  const holders = new Set(lines.filter((line) => hadBefore(line, stateOf)));
  const all = lines.flatMap(({ own }) => own).sort((a, b) => a.id - b.id);
  return all.filter(({ line, direction, isDisagreement }) => {
    const before = holders.size > 0;
    if (direction === "join") holders.add(line);
    else holders.delete(line);
    const after = holders.size > 0;
    return isDisagreement ? after === (direction === "join") : before !== after;
  });
}

/** Whether it had the address before the first change that is known. */
function hadBefore(line: Line, stateOf: (line: Line) => Direction): boolean {
  const [first] = line.own;
  if (first === undefined) return line.endpoint.podUid !== undefined && stateOf(line) === "join";
  return first.isDisagreement === (first.direction === "join");
}
