// Names the cause of a hop that stays late, as far as the observed changes show it, and the command that
// explains it. Pure. The notes have no numbers that change, so that plain output prints each one once.
import type { ClusterStatus } from "../../../observe/cluster-status.ts";
import { hasExactOrigin, type Journey } from "../../../timeline/journey.ts";
import type { Hop } from "../../../timeline/witness.ts";

export interface LateHops {
  /** Changes with a stuck hop. */
  readonly stuck: readonly Journey[];
  readonly clusters: readonly ClusterStatus[];
  /** The command that examines a cluster. */
  readonly explain: (cluster: string) => string;
}

/** One line for each hop of each cluster is enough, and the screen has little room. */
const notesMost = 2;

/** In the order of a change: a later hop is late because of an earlier one. */
const order: readonly Hop[] = ["published", "synced", "routed"];

export function lateHopNotes({ stuck, clusters, explain }: LateHops): readonly string[] {
  const notes = clusters.flatMap(({ cluster, doubts }) => {
    // Then the watch is late, and nothing is known about the hop.
    if (doubts.length > 0) return [];
    // A disagreement that was there at the start has no time, so nothing says that a hop is late.
    const own = stuck.filter(
      (journey) => journey.endpoint.cluster === cluster && hasExactOrigin(journey),
    );
    const hop = order.find((one) => own.some((journey) => isStuckAt(journey, one)));
    if (hop === undefined) return [];
    const late = own.filter((journey) => isStuckAt(journey, hop));
    return [`${cluster}: ${causeOf(hop, late)}. Run ${explain(cluster)}`];
  });
  return notes.slice(0, notesMost);
}

function causeOf(hop: Hop, late: readonly Journey[]): string {
  const services = [...new Set(late.map(({ endpoint }) => endpoint.service))];
  const [first = ""] = services;
  const which = services.length === 1 ? first : "several services";
  if (hop === "published") {
    return services.length === 1
      ? `published endpoints of ${which} are late, cause unknown`
      : `published endpoints of ${which} are late: the endpoint controller has a backlog`;
  }
  if (hop === "synced") return `copies of ${which} are late, cause unknown`;
  return routedCause(which, late);
}

/** Proxies differ from each other, or all of them from what is published. */
function routedCause(which: string, late: readonly Journey[]): string {
  const replicas = (state: "stuck" | "shown"): ReadonlySet<string> =>
    new Set(
      late.flatMap(({ hops }) =>
        hops
          .filter((one) => one.hop === "routed" && one.state.type === state)
          .map(({ witness }) => witness),
      ),
    );
  const stale = [...replicas("stuck")].sort();
  const isRight = late.every((journey) => isShownAt(journey, "published"));
  const isSome = late.every((journey) => isShownAt(journey, "routed"));
  if (isSome && stale.every((replica) => !replicas("shown").has(replica))) {
    const names = stale.join(", ");
    return `only ${names} routes ${which} late: its own cache or watch is stale`;
  }
  if (isRight && replicas("shown").size === 0) {
    return (
      `all proxies route ${which} late although the published endpoints are right: the ingress ` +
      "controller updates them late"
    );
  }
  return `proxies route ${which} late, cause unknown`;
}

function isStuckAt({ hops }: Journey, hop: Hop): boolean {
  return hops.some((one) => one.hop === hop && one.state.type === "stuck");
}

/** At least one source of the hop has shown it. */
function isShownAt({ hops }: Journey, hop: Hop): boolean {
  return hops.some((one) => one.hop === hop && one.state.type === "shown");
}
