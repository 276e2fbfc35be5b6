// Every address and port that any source names for a port of a service, each once, with what the
// pod watch and the published objects say of it side by side.
import type { Pod } from "../../kube/kinds/pod.ts";
import { podIPs } from "../../kube/kinds/pod.ts";
import type { Service, ServicePort } from "../../kube/kinds/service.ts";
import type { PublishedEndpoint } from "../../model/published-endpoint.ts";
import type { PodFact, ServiceInCluster } from "../../model/service-snapshot.ts";
import { peerKey } from "../../sources/proxy-feedback.ts";
import type { Candidate } from "./verdict.ts";

/** The port of a service that a route names, by its number or its name there. */
export function servicePort(service: Service, port: number | string): ServicePort | undefined {
  return service.ports.find((one) => (typeof port === "number" ? one.port : one.name) === port);
}

export function candidatesOf(facts: ServiceInCluster, port: ServicePort): readonly Candidate[] {
  const candidates = new Map<string, Candidate>();
  /** By address and port, the pod that an endpoint published without one belongs to. */
  const owners = new Map<string, Candidate>();
  const pods = new Map<string, PodFact>();
  for (const fact of facts.pods.pods) {
    pods.set(fact.pod.metadata.uid, fact);
    const candidate = fact.selected ? fromPod(facts, port, fact) : undefined;
    if (candidate === undefined) continue;
    candidates.set(keyOf(candidate), candidate);
    owners.set(placeKey(candidate), likelierOwner(owners.get(placeKey(candidate)), candidate));
  }
  for (const endpoint of facts.published.endpoints) {
    const published = fromPublished(facts, port, endpoint, pods);
    if (published === undefined) continue;
    const owner = endpoint.pod === undefined ? owners.get(placeKey(published)) : undefined;
    const key = keyOf(owner ?? published);
    candidates.set(key, merged(candidates.get(key), published));
  }
  return [...candidates.values()];
}

function fromPod(facts: ServiceInCluster, port: ServicePort, fact: PodFact): Candidate | undefined {
  const address = addressOf(facts.service, fact.pod);
  const number = targetPortOf(port, fact.pod);
  if (address === undefined || number === undefined) return undefined;
  return {
    cluster: facts.cluster,
    address,
    port: number,
    service: facts.service,
    podUid: fact.pod.metadata.uid,
    podName: fact.pod.metadata.name,
    pod: fact,
    podGone: false,
    isPodAddress: true,
    podWatch: facts.pods.watch,
    published: undefined,
    ...evidenceOf(facts, { address, port: number, podUid: fact.pod.metadata.uid }),
  };
}

function fromPublished(
  facts: ServiceInCluster,
  port: ServicePort,
  published: PublishedEndpoint,
  pods: ReadonlyMap<string, PodFact>,
): Candidate | undefined {
  const listed = published.ports.find(
    ({ name, protocol }) => name === port.name && protocol === port.protocol,
  );
  if (listed?.port === undefined) return undefined;
  if (!isOfFamily(facts.service, published.address)) return undefined;
  const uid = published.pod?.uid;
  return {
    cluster: facts.cluster,
    address: published.address,
    port: listed.port,
    service: facts.service,
    podUid: uid,
    podName: published.pod?.name,
    pod: uid === undefined ? undefined : pods.get(uid),
    podGone: uid !== undefined && facts.pods.gone.has(uid),
    isPodAddress: false,
    podWatch: facts.pods.watch,
    published,
    ...evidenceOf(facts, { address: published.address, port: listed.port, podUid: uid }),
  };
}

type Peer = Pick<Candidate, "address" | "port" | "podUid">;

function evidenceOf(
  { doubts, unreached }: ServiceInCluster,
  peer: Peer,
): Pick<Candidate, "probed" | "unreached"> {
  if (doubts === undefined) return { probed: undefined, unreached: false };
  if (doubts.size + unreached.size === 0) return { probed: "unknown", unreached: false };
  const key = peerKey(peer);
  const { cause, answer = "unknown" } = doubts.get(key) ?? {};
  const isUnsettled = cause === "traffic" && answer !== "answers";
  return { probed: answer, unreached: isUnsettled || unreached.has(key) };
}

/** Pods of the host's network, or a pod and its successor, can share a place: the ready one has it. */
function likelierOwner(known: Candidate | undefined, candidate: Candidate): Candidate {
  if (known === undefined) return candidate;
  const isReady = ({ pod }: Candidate): boolean =>
    pod?.pod.ready === "True" && pod.pod.metadata.deletionTimestamp === undefined;
  if (isReady(known) !== isReady(candidate)) return isReady(known) ? known : candidate;
  return keyOf(known) < keyOf(candidate) ? known : candidate;
}

/** An endpoint can be in two slices while it moves between them; then the readier entry counts. */
function merged(known: Candidate | undefined, candidate: Candidate): Candidate {
  if (known === undefined) return candidate;
  const { published } = candidate;
  const isReadier = rank(published) > rank(known.published);
  return isReadier ? { ...known, published } : known;
}

function rank(published: PublishedEndpoint | undefined): number {
  if (published === undefined) return 0;
  if (published.ready) return 3;
  return published.serving && published.terminating ? 2 : 1;
}

/** An address and port, whoever is behind it. */
function placeKey({ address, port }: Candidate): string {
  return `${address} ${port}`;
}

function keyOf({ podUid, address, port }: Candidate): string {
  return `${podUid ?? ""} ${address} ${port}`;
}

/** The address of the service's first family, as its first slices have it. */
function addressOf(service: Service, pod: Pod): string | undefined {
  return podIPs(pod).find((address) => isOfFamily(service, address));
}

function isOfFamily({ ipFamilies }: Service, address: string): boolean {
  const [family] = ipFamilies;
  return family === undefined || (family === "IPv6") === address.includes(":");
}

/** A named target port can be another number in each pod; a pod without it is no endpoint. */
function targetPortOf({ targetPort, protocol }: ServicePort, pod: Pod): number | undefined {
  if (typeof targetPort === "number") return targetPort;
  const named = pod.ports.find((one) => one.name === targetPort && one.protocol === protocol);
  return named?.containerPort;
}
