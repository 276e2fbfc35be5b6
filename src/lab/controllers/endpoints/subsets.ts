// The address rules of the Endpoints controller as a pure function: a service and its pods in, the
// subsets that should be published out, in the form they have in the API.
import { podIPs } from "../../../kube/kinds/pod.ts";
import type { Service } from "../../../kube/kinds/service.ts";
import type { EndpointsRules } from "../../versions/profile.ts";
import { findPort, hostnameFor, ipFamilyOf } from "../memberships.ts";
import { isReady, isTerminal, type OwnedPod } from "../owned-pod.ts";
import { type Placed, repack, type Subset, type SubsetAddress, type SubsetPort } from "./repack.ts";
import type { SubsetTypes } from "./subset-order.ts";

export type SubsetRules = Pick<
  EndpointsRules,
  | "unreadyBy"
  | "terminalPods"
  | "portlessHeadless"
  | "podAddress"
  | "publishesPodVersion"
  | "publishesAppProtocol"
  | "sidecarPorts"
  | "hash"
>;

/** Before 1.24 it went before the service's field, and before 1.11 the field meant nothing. */
const tolerateAnnotation = "service.alpha.kubernetes.io/tolerate-unready-endpoints";

/** Texts that Go's strconv.ParseBool accepts. */
const trueTexts = new Set(["1", "t", "T", "TRUE", "true", "True"]);
const falseTexts = new Set(["0", "f", "F", "FALSE", "false", "False"]);

export function subsetsOf(
  service: Service,
  pods: Iterable<OwnedPod>,
  rules: SubsetRules,
): readonly Subset[] {
  const placed: Placed[] = [];
  const isTolerant = toleratesUnready(service, rules);
  for (const pod of pods) {
    const address = addressFor(service, pod, rules);
    if (address === undefined || !mayBeListed(pod, isTolerant, rules)) continue;
    const ready = isTolerant || isReady(pod);
    for (const port of portsFor(service, pod, rules)) placed.push({ port, address, ready });
  }
  return repack(placed, subsetTypes(rules));
}

/** The Go types whose printed form decides the order of published subsets. */
export function subsetTypes(
  rules: Pick<SubsetRules, "publishesAppProtocol" | "hash">,
): SubsetTypes {
  return { package: "v1", appProtocol: rules.publishesAppProtocol, hash: rules.hash };
}

function toleratesUnready(service: Service, { unreadyBy }: SubsetRules): boolean {
  const { annotations, publishNotReadyAddresses } = service;
  if (unreadyBy === "field") return publishNotReadyAddresses;
  const text = annotations[tolerateAnnotation] ?? "";
  if (trueTexts.has(text)) return true;
  return unreadyBy === "annotation-or-field" && !falseTexts.has(text) && publishNotReadyAddresses;
}

function mayBeListed(pod: OwnedPod, isTolerant: boolean, rules: SubsetRules): boolean {
  if (pod.metadata.deletionTimestamp !== undefined && !isTolerant) return false;
  if (!isTerminal(pod) || rules.terminalPods === "listed") return true;
  if (rules.terminalPods === "left-out") return false;
  if (isTolerant || isReady(pod)) return true;
  // A container that will be started again may serve again.
  return pod.restartPolicy === "OnFailure"
    ? pod.phase !== "Succeeded"
    : pod.restartPolicy !== "Never";
}

function addressFor(
  service: Service,
  pod: OwnedPod,
  rules: SubsetRules,
): SubsetAddress | undefined {
  const ip = rules.podAddress === "first" ? podIPs(pod)[0] : ipFor(service, pod);
  if (ip === undefined) return undefined;
  const { namespace, name, uid, resourceVersion } = pod.metadata;
  const hostname = hostnameFor(pod, service);
  return {
    ip,
    ...(hostname === undefined ? {} : { hostname }),
    nodeName: pod.nodeName,
    targetRef: {
      kind: "Pod",
      namespace,
      name,
      uid,
      ...(rules.publishesPodVersion ? { resourceVersion } : {}),
    },
  };
}

/** The pod's address of the service's family: that of its cluster IP, or the first in its spec. */
function ipFor(service: Service, pod: OwnedPod): string | undefined {
  const ips = podIPs(pod);
  const { clusterIP, ipFamilies } = service;
  const family = clusterIP === "" || clusterIP === "None" ? ipFamilies[0] : ipFamilyOf(clusterIP);
  return family === undefined ? ips[0] : ips.find((ip) => ipFamilyOf(ip) === family);
}

/** One for each port the pod has; one without a port for a headless service that names none. */
function portsFor(
  service: Service,
  pod: OwnedPod,
  rules: SubsetRules,
): readonly (SubsetPort | undefined)[] {
  if (service.ports.length === 0) {
    if (service.clusterIP !== "None" || rules.portlessHeadless === "nothing") return [];
    return [rules.portlessHeadless === "no-port" ? undefined : { port: 0, protocol: "TCP" }];
  }
  const ports: SubsetPort[] = [];
  for (const servicePort of service.ports) {
    const port = findPort(pod, servicePort, { sidecars: rules.sidecarPorts });
    if (port === undefined) continue;
    const { name, protocol, appProtocol } = servicePort;
    ports.push({
      ...(name === "" ? {} : { name }),
      port,
      protocol,
      ...(appProtocol === undefined || !rules.publishesAppProtocol ? {} : { appProtocol }),
    });
  }
  return ports;
}
