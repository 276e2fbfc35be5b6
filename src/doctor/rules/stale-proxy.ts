// A proxy that works with old endpoints while the EndpointSlices are right: its own cache, its push or
// its watch is late. Any controller can do this; a restart of the proxy hides it.

import { counted } from "../../environment/counted.ts";
import { durationText } from "../../environment/duration-text.ts";
import type { Cause, Conclusion, Sign } from "../cause.ts";
import type { Evidence } from "../evidence/evidence.ts";
import { type HopDelay, hopDelays } from "../evidence/hop-delays.ts";
import type { ObjectFacts } from "../evidence/objects.ts";
import type { AddressFailures } from "../evidence/request-log.ts";
import { placeText } from "../evidence/sign-log.ts";

/** A pod that ends makes a few seconds of failures; a stale proxy goes on. */
const lastingMs = 60_000;
const failuresMin = 3;

const lateMs = 10_000;
const changesMin = 3;

export const staleProxy: Cause = {
  name: "stale-proxy",
  summary:
    "A proxy sends requests to endpoints that are in no EndpointSlice any more. The slices are right, " +
    "so the cache or the watch of the proxy is old.",
  affected: "All versions, current ones included; it depends on the ingress controller.",
  shownBy: ["proxy log", "routed changes"],
  hop: "routed",
  explains: ["dead-endpoints", "no-endpoints"],

  signs(evidence) {
    return [...unlisted(evidence), ...lateReplicas(evidence), ...failedPushes(evidence)];
  },

  conclude(evidence) {
    const [failures] = unlistedAddresses(evidence);
    const [replica] = replicas(evidence);
    if (failures === undefined && replica === undefined) return notPushed(evidence);
    const what = failures === undefined ? `Proxy replica ${replica?.witness ?? ""}` : "The proxy";
    const which = failures === undefined ? "endpoints" : failures.address;
    return {
      severity: "critical",
      cause: `${what} still uses ${which} long after the EndpointSlices have changed: its own copy of them is old.`,
      fix: {
        component: replica?.witness ?? "the ingress controller",
        change: [
          "# first the reason, which a restart removes from sight:",
          "kubectl -n ingress-nginx logs REPLICA --since=24h | grep -iE 'failed to (list|watch)|forbidden|emerg|rejected' | tail",
          "kubectl -n ingress-nginx delete pod REPLICA",
        ].join("\n"),
        reason:
          "A restart reads everything again. The reason is in the log of the replica: failed watches of " +
          "endpointslices, a missing permission, a rejected configuration.",
      },
      missing: ["the log of the ingress controller, from before the first failed request"],
    };
  },
};

/** Failing for long, and neither a listed endpoint nor a pod has the address. */
function unlistedAddresses({ objects, requests }: Evidence): readonly AddressFailures[] {
  if (objects.listedAddresses.size === 0 || objects.isListCut) return [];
  const ofPods = new Set([...objects.pods.values()].map(({ ip }) => ip));
  return [...requests.failures.values()].filter(
    ({ address, ports, count, firstMs = 0, lastMs = 0 }) =>
      count >= failuresMin &&
      areListed(objects, ports) &&
      lastMs - firstMs >= lastingMs &&
      !objects.listedAddresses.has(address) &&
      !ofPods.has(address),
  );
}

/** Endpoints of another service say nothing about these: one of the ports has to be the same. */
function areListed({ listedPorts }: ObjectFacts, ports: ReadonlySet<number>): boolean {
  if (listedPorts.size === 0 || ports.size === 0) return true;
  return [...ports].some((port) => listedPorts.has(port));
}

function unlisted(evidence: Evidence): readonly Sign[] {
  const [first] = unlistedAddresses(evidence);
  if (first === undefined) return [];
  const { address, count, firstMs = 0, lastMs = 0, place } = first;
  const failed = `${counted(count, "connection")} to ${address} failed within ${durationText(lastMs - firstMs)}`;
  const { size } = evidence.objects.listedAddresses;
  const listed = `no Endpoints or EndpointSlice lists ${address} (${size} ${size === 1 ? "address" : "addresses"} read)`;
  const [service] = evidence.objects.endpoints.values();
  return [
    { weight: "proof", source: "logs", lines: [{ text: failed, source: placeText(place) }] },
    {
      weight: "support",
      source: "objects",
      lines: [{ text: listed, source: placeText(service?.place ?? place) }],
    },
  ];
}

/** One failure is tried again at once. */
const pushesMin = 2;

function failedPushes({ signs }: Evidence): readonly Sign[] {
  const group = signs.get("push-failed");
  if (group === undefined) return [];
  const text = `${counted(group.count, "push", "pushes")} of a configuration to the proxy failed: ${group.samples[0]?.detail ?? ""}`;
  const weight = group.count >= pushesMin ? "proof" : "support";
  return [{ weight, source: "logs", lines: [group.evidence(text)] }];
}

function notPushed({ signs }: Evidence): Conclusion {
  const group = signs.get("push-failed");
  const program = [...(group?.programs.keys() ?? [])][0] ?? "the ingress controller";
  return {
    severity: "warning",
    cause:
      "The ingress controller cannot give its configuration to the proxy, so the proxy keeps the endpoints of before.",
    fix: {
      component: program,
      change: [
        "kubectl -n NAMESPACE logs PROXY --since=1h | tail -50   # the error of the proxy at the same moments",
        "kubectl -n NAMESPACE delete pod PROXY   # reads everything again",
      ].join("\n"),
      reason:
        "The controller tries again, and each try fails for the same reason: the proxy rejects the configuration, " +
        "or its admin address does not answer. Until one try succeeds no endpoint change arrives.",
    },
    missing: ["kubectl get endpointslices -A -o yaml, and the log of the proxy"],
  };
}

function replicas({ journeys }: Evidence): readonly HopDelay[] {
  if (journeys === undefined) return [];
  return hopDelays(journeys, "routed", lateMs).filter(({ late }) => late >= changesMin);
}

function lateReplicas(evidence: Evidence): readonly Sign[] {
  const [first] = replicas(evidence);
  if (first === undefined) return [];
  const { witness, late, changes, missing, longestMs } = first;
  const never = missing === 0 ? "" : `, ${missing} not at all`;
  const text = `${witness} used ${late} of ${changes} published changes more than ${durationText(lateMs)} late, up to ${durationText(longestMs)}${never}`;
  const lines = [{ text, source: evidence.journeys?.source ?? "" }];
  return [{ weight: "proof", source: "changes", lines }];
}
