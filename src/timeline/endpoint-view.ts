// Each endpoint as each witness shows it at present. Pure: it reads the lines of a service, and
// changes nothing.
import type { MonotonicMs } from "../environment/clock.ts";
import type { Line } from "./line.ts";
import type { Standings } from "./standings.ts";
import type { Direction, Witness, WitnessedEndpoint } from "./witness.ts";

export interface EndpointView {
  readonly endpoint: WitnessedEndpoint;
  readonly podName: string | undefined;
  /** Of its newest change: `terminating`; undefined where none was seen. */
  readonly cause: string | undefined;
  /** Whether it is there, by its reference. */
  readonly direction: Direction;
  /** A change of it is in flight. */
  readonly isPending: boolean;
  /** Every witness that follows it, in the order of the hops. */
  readonly witnesses: readonly WitnessView[];
}

export interface WitnessView {
  readonly witness: Witness;
  readonly direction: Direction;
  /** Since when; undefined where the witness has never reported it. */
  readonly at: MonotonicMs | undefined;
}

/** One view for each pod; for an address that no pod has, one for the address. */
export function endpointViews(service: string, standings: Standings): readonly EndpointView[] {
  return [...standings.places.ofService(service)].flatMap(({ pods, addresses }) => {
    const lines = pods.length > 0 ? pods : addresses;
    return lines.map((line) => viewOf(line, standings));
  });
}

/** Requests say nothing about where an endpoint is listed. */
export function isDisputed({ witnesses }: Pick<EndpointView, "witnesses">): boolean {
  const shown = witnesses.filter(({ witness }) => witness.hop !== "traffic");
  return shown.some(({ direction }) => direction !== shown[0]?.direction);
}

function viewOf(line: Line, standings: Standings): EndpointView {
  const newest = line.own.at(-1);
  return {
    endpoint: line.endpoint,
    podName: line.podName,
    cause: newest?.cause,
    direction: standings.stateOf(line),
    isPending: line.own.some(({ outcome }) => outcome === "pending"),
    witnesses: standings.expectedAt(line).map((witness) => {
      const cursor = standings.standingOf({ line }, witness)?.cursor;
      const isReported = cursor !== undefined && cursor.origin !== "assumed";
      return {
        witness,
        direction: cursor?.direction ?? "leave",
        at: isReported ? cursor.at : undefined,
      };
    }),
  };
}
