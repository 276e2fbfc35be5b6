// Every address and port that any source names for a port of a service, each once, with what the
// pod watch and the published objects show of it side by side.
import { mapInSteps, type Steps } from "../../environment/steps.ts";
import { isTerminating } from "../../kube/kinds/pod.ts";
import type { Service, ServicePort } from "../../kube/kinds/service.ts";
import { podAddress, podPort } from "../../model/pod-endpoint.ts";
import type { PublishedEndpoint } from "../../model/published-endpoint.ts";
import type { PodFact, ServiceInCluster } from "../../model/service-snapshot.ts";
import { type EndpointId, type EndpointIdentity, endpointId } from "../../sources/endpoint-id.ts";
import { isReadier, ListedEndpoints } from "./listed-endpoints.ts";
import type { Candidate } from "./verdict.ts";

/** A slice has room for as many. Each port is judged by itself, so more would only take time. */
export const maxServicePorts = 100;

/** A headless service without ports has this instead: its pods' addresses, at whatever port. */
const anyPort: ServicePort = {
  name: "",
  port: 0,
  protocol: "TCP",
  targetPort: 0,
  appProtocol: undefined,
};

/** The port of a service that a route names, by its number or its name there. */
export function servicePort(service: Service, port: number | string): ServicePort | undefined {
  if (service.ports.length === 0 && port === anyPort.port) return anyPort;
  return service.ports
    .slice(0, maxServicePorts)
    .find((one) => (typeof port === "number" ? one.port : one.name) === port);
}

export function* candidatesInSteps(
  facts: ServiceInCluster,
  port: ServicePort,
): Steps<readonly Candidate[]> {
  const pods = new Map<string, PodFact>();
  const listed = new ListedEndpoints(facts.service, port);
  yield* mapInSteps(facts.published.endpoints, (endpoint) => listed.add(endpoint));
  const candidates: Candidate[] = [];
  yield* mapInSteps(facts.pods.pods, (fact) => {
    pods.set(fact.pod.metadata.uid, fact);
    const candidate = fact.selected ? fromPod(facts, port, fact, listed) : undefined;
    if (candidate !== undefined) candidates.push(candidate);
  });
  const rest = listed.rest();
  if (rest.length === 0) return candidates;
  const published = yield* mapInSteps(rest, ({ endpoint, port: number }) =>
    fromPublished(facts, endpoint, number, pods),
  );
  return yield* withPublished(candidates, published);
}

/** Published endpoints that no pod was found for, each once, and with their pod where one fits. */
function* withPublished(
  fromPods: readonly Candidate[],
  published: readonly Candidate[],
): Steps<readonly Candidate[]> {
  const candidates = new Map<EndpointId, Candidate>();
  /** By address and port, the pod that an endpoint published without one belongs to. */
  const owners = new Map<EndpointId, Candidate>();
  yield* mapInSteps(fromPods, (candidate) => {
    candidates.set(endpointId(candidate), candidate);
    const place = placeOf(candidate);
    owners.set(place, likelierOwner(owners.get(place), candidate));
  });
  yield* mapInSteps(published, (candidate) => {
    const owner = candidate.podUid === undefined ? owners.get(placeOf(candidate)) : undefined;
    const key = endpointId(owner ?? candidate);
    candidates.set(key, merged(candidates.get(key), candidate));
  });
  return [...candidates.values()];
}

function fromPod(
  facts: ServiceInCluster,
  port: ServicePort,
  fact: PodFact,
  listed: ListedEndpoints,
): Candidate | undefined {
  const { pod } = fact;
  // As the service's first slices have it.
  const address = podAddress(pod, facts.service.ipFamilies[0]);
  const number = podPort(pod, port);
  if (address === undefined || number === undefined) return undefined;
  const { uid, name } = pod.metadata;
  const { probed, doubted, unreached } = evidenceOf(facts, { address, port: number, podUid: uid });
  return {
    cluster: facts.cluster,
    address,
    port: number,
    service: facts.service,
    podUid: uid,
    podName: name,
    pod: fact,
    gone: undefined,
    addressClaimants: facts.pods.addressClaimants.get(address),
    isPodAddress: true,
    podWatch: facts.pods.watch,
    publishedWatch: facts.published.watch,
    published: listed.take(uid, address, number),
    probed,
    doubted,
    unreached,
  };
}

function fromPublished(
  facts: ServiceInCluster,
  published: PublishedEndpoint,
  port: number,
  pods: ReadonlyMap<string, PodFact>,
): Candidate {
  const { address, pod } = published;
  const { probed, doubted, unreached } = evidenceOf(facts, { address, port, podUid: pod?.uid });
  return {
    cluster: facts.cluster,
    address,
    port,
    service: facts.service,
    podUid: pod?.uid,
    podName: pod?.name,
    pod: pod && pods.get(pod.uid),
    gone: pod && facts.pods.gone.get(pod.uid),
    addressClaimants: facts.pods.addressClaimants.get(address),
    isPodAddress: false,
    podWatch: facts.pods.watch,
    publishedWatch: facts.published.watch,
    published,
    probed,
    doubted,
    unreached,
  };
}

/** The results of requests and probes for a peer. */
export function evidenceOf(
  { doubts, unreached }: Pick<ServiceInCluster, "doubts" | "unreached">,
  peer: EndpointIdentity,
): Pick<Candidate, "probed" | "doubted" | "unreached"> {
  if (doubts === undefined) return notProbed;
  if (doubts.size + unreached.size === 0) return notDoubted;
  const key = endpointId(peer);
  const doubted = doubts.get(key);
  const probed = doubted?.answer ?? "unknown";
  const isUnsettled = doubted?.cause === "traffic" && probed !== "answers";
  return { probed, doubted, unreached: isUnsettled || unreached.has(key) };
}

const notProbed = { probed: undefined, doubted: undefined, unreached: false } as const;
const notDoubted = { probed: "unknown", doubted: undefined, unreached: false } as const;

/** Pods of the host's network, or a pod and its successor, can share a place: the ready one has it. */
function likelierOwner(known: Candidate | undefined, candidate: Candidate): Candidate {
  if (known === undefined) return candidate;
  const isReady = ({ pod }: Candidate): boolean =>
    pod?.pod.ready === "True" && !isTerminating(pod.pod);
  if (isReady(known) !== isReady(candidate)) return isReady(known) ? known : candidate;
  return endpointId(known) < endpointId(candidate) ? known : candidate;
}

/** An address and port, whichever pod is behind it. */
function placeOf({ address, port }: Candidate): EndpointId {
  return endpointId({ address, port });
}

/** Combines two slices' entries of one endpoint, or a slice's and a pod's. */
function merged(known: Candidate | undefined, candidate: Candidate): Candidate {
  if (known === undefined) return candidate;
  const { published } = candidate;
  return isReadier(published, known.published) ? { ...known, published } : known;
}
