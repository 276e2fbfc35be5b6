// The inputs of `lockstep watch` beside objects, as a recording has them: the freshness of watches,
// the routes of proxy replicas, requests in access logs, and when the observer looked.
import type { MonotonicMs } from "../environment/clock.ts";
import { isRecord, type RawRecord } from "../kube/kinds/fields.ts";
import type { Currency } from "../kube/reflector/event-time-bounds.ts";
import type { ClusterStanding, ClusterState, ObservedResource } from "../observe/cluster-status.ts";
import type { WatchState } from "../observe/observed-watch.ts";
import type { RoutedEndpoint, RoutedInput } from "../observe/routed-witness.ts";
import type { TrafficInput } from "../observe/traffic/traffic-witness.ts";
import type { PublishedForm } from "../sources/published-form.ts";
import type { EarlierChange } from "../timeline/earlier-changes.ts";

export type RecordedInput =
  /** The observation begins to be shown. */
  | { readonly type: "started" }
  /** Changes that an earlier run of the observer left in flight. */
  | { readonly type: "earlier"; readonly changes: readonly EarlierChange[] }
  /** Watches of a cluster are opened. */
  | { readonly type: "began"; readonly cluster: string; readonly form: PublishedForm }
  | {
      readonly type: "watch";
      readonly cluster: string;
      readonly resource: ObservedResource;
      readonly namespace?: string | undefined;
      readonly state: WatchState;
    }
  | { readonly type: "standing"; readonly cluster: string; readonly standing: ClusterStanding }
  | { readonly type: "routed"; readonly replica: string; readonly routed: RoutedInput }
  | { readonly type: "traffic"; readonly log: string; readonly traffic: TrafficInput }
  /** The notes beside the figures. */
  | { readonly type: "notes"; readonly notes: readonly string[] }
  /** The observer looked at everything, as it does once a second. */
  | { readonly type: "tick" }
  /** A new file of the same run has all that was known; from here on it is new. */
  | { readonly type: "continued" }
  | { readonly type: "ended" };

const resources: readonly unknown[] = ["services", "pods", "endpointslices", "endpoints", "nodes"];

/** Undefined for what is none of them. */
export function inputOf(record: RawRecord): RecordedInput | undefined {
  const { type, cluster } = { type: record["type"], cluster: textOf(record["cluster"]) };
  switch (type) {
    case "started":
    case "tick":
    case "continued":
    case "ended":
      return { type };
    case "notes": {
      const notes = record["notes"];
      return Array.isArray(notes) ? { type, notes: notes.map(String) } : undefined;
    }
    case "earlier": {
      const changes = record["changes"];
      return Array.isArray(changes)
        ? { type, changes: changes.filter(isRecord).flatMap(earlierOf) }
        : undefined;
    }
    case "began": {
      const form = record["form"];
      const isForm = form === "endpoints" || form === "endpointslices";
      return isForm && cluster !== undefined ? { type, cluster, form } : undefined;
    }
    case "standing": {
      const standing = standingOf(record["standing"]);
      return standing && cluster !== undefined ? { type, cluster, standing } : undefined;
    }
    case "watch":
      return watchOf(record, cluster);
    case "routed": {
      const replica = textOf(record["replica"]);
      const routed = isRecord(record["routed"]) ? routedOf(record["routed"]) : undefined;
      return routed && replica !== undefined ? { type, replica, routed } : undefined;
    }
    case "traffic": {
      const log = textOf(record["log"]);
      const traffic = isRecord(record["traffic"]) ? trafficOf(record["traffic"]) : undefined;
      return traffic && log !== undefined ? { type, log, traffic } : undefined;
    }
    default:
      return undefined;
  }
}

function earlierOf(change: RawRecord): readonly EarlierChange[] {
  const { direction, since } = {
    direction: change["direction"],
    since: instantOf(change["since"]),
  };
  const { record, endpoint } = { record: textOf(change["record"]), endpoint: change["endpoint"] };
  const [routed] = endpointsOf([endpoint]);
  const service = isRecord(endpoint) ? textOf(endpoint["service"]) : undefined;
  if (direction !== "join" && direction !== "leave") return [];
  if (record === undefined || since === undefined || routed === undefined) return [];
  if (service === undefined) return [];
  const [podName, cause] = [textOf(change["podName"]), textOf(change["cause"])];
  const { cluster, podUid, address, port } = routed;
  const known = { cluster, service, address, port, podUid };
  return [{ record, endpoint: known, direction, since, podName, cause }];
}

function watchOf(record: RawRecord, cluster: string | undefined): RecordedInput | undefined {
  const { resource, state, namespace } = {
    resource: record["resource"],
    state: record["state"],
    namespace: textOf(record["namespace"]),
  };
  if (cluster === undefined || !isResource(resource) || !isRecord(state)) return undefined;
  const status = isRecord(state["status"]) ? state["status"] : {};
  const doubt = textOf(status["doubt"]);
  const known = status["state"];
  const isKnown = known === "fresh" || known === "stale" || known === "refused";
  return {
    type: "watch",
    cluster,
    resource,
    namespace,
    state: {
      currency: currencyOf(state["currency"]),
      isHeard: state["isHeard"] === true,
      status: {
        state: isKnown ? known : "stale",
        detail: textOf(status["detail"]) ?? "",
        ...(doubt !== undefined && { doubt }),
        failure: textOf(status["failure"]),
      },
    },
  };
}

function currencyOf(value: unknown): Currency {
  return value === "live" ? value : instantOf(value);
}

function standingOf(value: unknown): ClusterStanding | undefined {
  const state = isRecord(value) ? value["state"] : undefined;
  if (!isRecord(value) || !isRecord(state)) return undefined;
  const known = clusterStateOf(state);
  return known && { state: known, hasSlices: value["hasSlices"] !== false };
}

function clusterStateOf(state: RawRecord): ClusterState | undefined {
  const { type, detail = "" } = { type: state["type"], detail: textOf(state["detail"]) };
  const { listed, of } = { listed: state["listed"], of: state["of"] };
  const since = instantOf(state["since"]);
  if (type === "connecting" || type === "watching") return { type };
  if (type === "refused") return { type, detail };
  if (type === "unreachable" && since !== undefined) return { type, since, detail };
  const isListing = type === "listing" && typeof listed === "number" && typeof of === "number";
  return isListing ? { type, listed, of } : undefined;
}

function routedOf(record: RawRecord): RoutedInput | undefined {
  const { type, service } = { type: record["type"], service: textOf(record["service"]) };
  const { at, notBefore } = {
    at: instantOf(record["at"]),
    notBefore: instantOf(record["notBefore"]),
  };
  if (type === "lost" || type === "found" || type === "stop") return { type };
  if (type === "began" && isRecord(record["services"]) && at !== undefined) {
    const services = Object.entries(record["services"]);
    return {
      type,
      services: Object.fromEntries(services.map(([name, list]) => [name, endpointsOf(list)])),
      at,
    };
  }
  if (service === undefined) return undefined;
  if (type === "gaveUp" && Array.isArray(record["ports"])) {
    return { type, service, ports: record["ports"].map(Number) };
  }
  if (at === undefined) return undefined;
  if (type === "dropped") return { type, service, at, notBefore };
  if (type !== "routed") return undefined;
  return { type, service, endpoints: endpointsOf(record["endpoints"]), at, notBefore };
}

function endpointsOf(value: unknown): readonly RoutedEndpoint[] {
  const records = Array.isArray(value) ? value.filter(isRecord) : [];
  return records.flatMap((one) => {
    const { address, port } = { address: textOf(one["address"]), port: one["port"] };
    if (address === undefined || typeof port !== "number") return [];
    return [{ address, port, cluster: textOf(one["cluster"]), podUid: textOf(one["podUid"]) }];
  });
}

function trafficOf(record: RawRecord): TrafficInput | undefined {
  const { type, service, request } = {
    type: record["type"],
    service: textOf(record["service"]),
    request: record["request"],
  };
  if (type === "heard") return { type, isHeard: record["isHeard"] === true };
  if (type === "named" && service !== undefined) return { type, service };
  if (type !== "request" || !isRecord(request)) return undefined;
  const { address, port } = { address: textOf(request["address"]), port: request["port"] };
  const at = instantOf(request["at"]);
  if (address === undefined || typeof port !== "number" || at === undefined) return undefined;
  const failed = request["failed"] === true;
  return { type, request: { service: textOf(request["service"]), address, port, at, failed } };
}

function isResource(value: unknown): value is ObservedResource {
  return resources.includes(value);
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function instantOf(value: unknown): MonotonicMs | undefined {
  return typeof value === "number" ? (value as MonotonicMs) : undefined;
}
