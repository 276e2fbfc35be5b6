// Services and ports that routes name and no cluster has, reported to the Ingresses that name them.
// Invariant: `#missing` has exactly the backends whose last note had something missing, and a
// problem stays the same object while it has not changed.
import { assertCostly } from "../../environment/assert.ts";
import { splitObjectKey } from "../../kube/kinds/kind.ts";
import {
  describeAbsence,
  type ServiceInCluster,
  type ServiceSnapshot,
} from "../../model/service-snapshot.ts";
import { servicePort } from "../truth/candidates.ts";
import type { RouteOrigin, RoutingProblem } from "./route.ts";
import { plain } from "./shown-text.ts";

/** Problems of a namespace; with more something else is wrong than a name in an Ingress. */
export const maxReportedPerNamespace = 100;

/** Of a service, in one message; a longer list does not help. */
const maxShownPorts = 10;

export class MissingBackends {
  /** By key of the backend, what is missing. */
  readonly #missing = new Map<string, string>();
  /** By key of the backend, the last problems of its Ingresses. */
  readonly #reported = new Map<string, ReadonlyMap<RouteOrigin, RoutingProblem>>();
  #isNew = false;

  /** Sets the missing part of this backend; undefined if nothing is missing. */
  note(key: string, missing: string | undefined): void {
    if (this.#missing.get(key) === missing) return;
    if (missing === undefined) this.#missing.delete(key);
    else this.#missing.set(key, missing);
    this.#reported.delete(key);
    this.#isNew = true;
    const isMissing = () => [...this.#reported.keys()].every((one) => this.#missing.has(one));
    assertCostly(isMissing, "only missing backends are reported", this.#reported.size);
  }

  /** Whether something was noted since the problems were last asked for. */
  get isNew(): boolean {
    return this.#isNew;
  }

  /** One for each Ingress and each backend that it names; `originsOf` says who does. */
  problems(originsOf: (key: string) => Iterable<RouteOrigin>): readonly RoutingProblem[] {
    this.#isNew = false;
    const all: RoutingProblem[] = [];
    const reportedCounts = new Map<string, number>();
    for (const [key, missing] of this.#missing) {
      const { namespace } = splitObjectKey(key);
      let room = maxReportedPerNamespace - (reportedCounts.get(namespace) ?? 0);
      if (room === 0) continue;
      const reported = this.#reported.get(key);
      const now = new Map<RouteOrigin, RoutingProblem>();
      for (const origin of originsOf(key)) {
        now.set(origin, reported?.get(origin) ?? problemOf(origin, key, missing));
        room -= 1;
        if (room === 0) break;
      }
      reportedCounts.set(namespace, maxReportedPerNamespace - room);
      this.#reported.set(key, now);
      for (const problem of now.values()) all.push(problem);
    }
    return all;
  }
}

function problemOf(origin: RouteOrigin, key: string, missing: string): RoutingProblem {
  const backend = key.slice(key.indexOf("/") + 1);
  return { origin, reason: "BackendMissing", message: `backend ${backend}: ${missing}` };
}

/** The part of a snapshot that says whether a service and its ports exist. */
export interface ServiceExistence
  extends Pick<ServiceSnapshot, "namespace" | "name" | "unlisted" | "silent" | "isImport"> {
  readonly clusters: readonly Pick<ServiceInCluster, "cluster" | "service" | "external">[];
}

/**
 * The missing part of a backend as text; undefined if nothing is missing, or if that is not known
 * yet.
 */
export function missingOf(snapshot: ServiceExistence, port: number | string): string | undefined {
  const { namespace, name, clusters, unlisted = [], silent = [] } = snapshot;
  const isAllKnown = unlisted.length + silent.length === 0;
  const key = `${namespace}/${name}`;
  if (clusters.length === 0) {
    return isAllKnown ? `${describeAbsence(snapshot)}, ${unanswered}` : undefined;
  }
  const beyond = clusters.find(({ external }) => external?.isBeyond === true);
  if (beyond !== undefined) {
    const { service, external, cluster } = beyond;
    const what = `service ${key} in ${cluster} is the external name ${plain(service.externalName ?? "")}`;
    return `${what}, which cannot be resolved: ${external?.failure}`;
  }
  const lacking = clusters.filter((facts) => !hasPort(facts, port));
  if (lacking.length === 0) return undefined;
  const isUnanswered = isAllKnown && lacking.length === clusters.length;
  const where = lacking.map(({ cluster, service }) => `in ${cluster} (${portsOf(service)})`);
  const consequence = isUnanswered ? unanswered : "so it gets no requests";
  return `the service ${key} has no port ${port} ${where.join(", and ")}, ${consequence}`;
}

const unanswered = "so its requests are answered with 503";

/** An external name has every port by its number. */
function hasPort({ service }: Pick<ServiceInCluster, "service">, port: number | string): boolean {
  const isAnyPort = service.type === "ExternalName" && typeof port === "number";
  return isAnyPort || servicePort(service, port) !== undefined;
}

function portsOf({ ports }: ServiceInCluster["service"]): string {
  if (ports.length === 0) return "ports there: none";
  const listed = ports
    .slice(0, maxShownPorts)
    .map(({ name, port }) => (name === "" ? `${port}` : `${port} (${plain(name)})`));
  const more = ports.length > maxShownPorts ? `, and ${ports.length - maxShownPorts} more` : "";
  return `ports there: ${listed.join(", ")}${more}`;
}
