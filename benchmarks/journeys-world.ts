// A cluster of services and pods for the observer, in one process and without sockets: the stores as
// reflectors would fill them, the witnesses of three hops, and the journeys they report to. A change
// is a pod that becomes unready or ready, then its slice, then what one replica routes to.
import type { MonotonicMs } from "../src/environment/clock.ts";
import { type EndpointSlice, endpointSliceKind } from "../src/kube/kinds/endpoint-slice.ts";
import type { Kind, Projected } from "../src/kube/kinds/kind.ts";
import { identify } from "../src/kube/kinds/metadata.ts";
import { type Pod, podKind } from "../src/kube/kinds/pod.ts";
import { type Service, serviceKind } from "../src/kube/kinds/service.ts";
import { parseWithoutManagedFields } from "../src/kube/reflector/lean-json.ts";
import { Store } from "../src/kube/store/store.ts";
import type { Change } from "../src/kube/store/store-change.ts";
import { type Learnt, PodWitness } from "../src/observe/pod-witness.ts";
import { PublishedWitness, publishedServiceOf } from "../src/observe/published-witness.ts";
import { RoutedWitness } from "../src/observe/routed-witness.ts";
import { selectorIndex } from "../src/sources/service-pods.ts";
import type { JourneyEvent } from "../src/timeline/journey-event.ts";
import { Timeline } from "../src/timeline/timeline.ts";

/** As in the write-up of the cluster with 13,000 services. */
export const podsPerService = 100_000 / 13_000;

const servicesPerNamespace = 50;
const podsPerNode = 100;
const cluster = "bench";

const first = { baseline: true, notBefore: undefined };
const watched = { baseline: false, notBefore: undefined };

export interface JourneysWorldOptions {
  readonly pods: number;
  readonly onEvent: (event: JourneyEvent) => void;
}

/** The bytes of one change as two watches would send them. */
interface ChangeBytes {
  readonly service: number;
  readonly pod: Buffer;
  readonly slice: Buffer;
}

export class JourneysWorld {
  readonly pods: number;
  readonly services: number;
  readonly journeys: Timeline;
  readonly #services = new Store({ indexes: { selector: selectorIndex } });
  readonly #pods = new Store<Pod>({ indexes: {} });
  readonly #slices = new Store<EndpointSlice>({ indexes: {} });
  readonly #podWitness: PodWitness;
  readonly #publishedWitness: PublishedWitness;
  readonly #replica: RoutedWitness;
  readonly #isReady: boolean[];
  #version = 0;
  #changes = 0;
  #turns = 0;
  #aheadMs = 0;

  constructor({ pods, onEvent }: JourneysWorldOptions) {
    this.pods = pods;
    this.services = Math.floor(pods / podsPerService);
    this.#isReady = Array.from({ length: pods }, () => true);
    for (let turn = -this.#awayTurns; turn < 0; turn += 1) this.#isReady[this.#podAt(turn)] = false;
    this.journeys = new Timeline({ onEvent });
    const shared = { cluster, sink: this.journeys };
    this.#podWitness = new PodWitness({
      ...shared,
      services: this.#services,
      pods: this.#pods,
      families: "all",
    });
    this.#publishedWitness = new PublishedWitness({
      ...shared,
      witness: { hop: "published", name: cluster },
      serviceOf: publishedServiceOf(cluster),
    });
    this.#replica = new RoutedWitness({ replica: "r1", sink: this.journeys });
  }

  /** Pods that are ready. */
  get endpoints(): number {
    return this.#isReady.filter(Boolean).length;
  }

  now(): MonotonicMs {
    return (performance.now() + this.#aheadMs) as MonotonicMs;
  }

  #learnt(how: Omit<Learnt, "at">): Learnt {
    return { ...how, at: this.now() };
  }

  /** Lets time pass without anything happening. */
  skip(ms: number): void {
    this.#aheadMs += ms;
    this.journeys.advance(this.now());
  }

  /** The content of a reflector's store. */
  fillServices(): void {
    for (let index = 0; index < this.services; index += 1) {
      this.#services.set(serviceKind.project(this.#service(index)));
    }
  }

  fillPodsAndSlices(): void {
    for (let index = 0; index < this.services; index += 1) {
      this.#slices.set(endpointSliceKind.project(this.#slice(index)));
    }
    for (let index = 0; index < this.pods; index += 1) {
      this.#pods.set(podKind.project(this.#pod(index)));
    }
  }

  showServices(): void {
    for (const object of this.#services) {
      const change: Change<Service> = { type: "added", object, learntBy: "list" };
      const { namespace, name } = object.metadata;
      const service = `${namespace}/${name}`;
      this.#publishedWitness.serviceChanged(change, { cluster, service });
      this.#podWitness.serviceChanged(change, this.#learnt(first));
      this.#replica.routed(service, [], this.now());
    }
  }

  showEndpoints(): void {
    for (const object of this.#pods) {
      this.#podWitness.podChanged({ type: "added", object, learntBy: "list" }, this.#learnt(first));
    }
    this.#podWitness.begin();
    for (const object of this.#slices) {
      this.#publishedWitness.sliceChanged(
        { type: "added", object, learntBy: "list" },
        this.#learnt(first),
      );
      this.#routed(object);
    }
  }

  /**
   * One pod leaves, or the one comes back that has been away longest, in turns: at every size as many
   * join as leave, and a tenth of the pods is away. As bytes, made before anything is measured.
   */
  makeChange(): ChangeBytes {
    this.#changes += 1;
    const turn = this.#changes >> 1;
    return this.#turn(this.#podAt(this.#changes % 2 === 0 ? turn - this.#awayTurns : turn));
  }

  /** The next pod in this range turns, each once before any does so again. */
  makeTurn(from: number, to: number): ChangeBytes {
    this.#turns += 1;
    return this.#turn(from + this.#podAt(this.#turns, to - from));
  }

  /** The unavoidable cost: the bytes become objects in stores. */
  store({ pod, slice }: ChangeBytes): readonly [Change<Pod>, Change<EndpointSlice>] {
    return [storeOne(this.#pods, podKind, pod), storeOne(this.#slices, endpointSliceKind, slice)];
  }

  /** The pod alone: a change that nothing else has shown yet. */
  observePod([pod]: readonly [Change<Pod>, Change<EndpointSlice>]): void {
    this.#podWitness.podChanged(pod, this.#learnt(watched));
  }

  observe(changes: readonly [Change<Pod>, Change<EndpointSlice>]): void {
    this.observePod(changes);
    this.#publishedWitness.sliceChanged(changes[1], this.#learnt(watched));
    this.#routed(changes[1].object);
  }

  get #awayTurns(): number {
    return Math.floor(this.pods / 10);
  }

  /** A stride apart, so that those that follow each other share no service. */
  #podAt(turn: number, pods = this.pods): number {
    return (((turn * 7_919) % pods) + pods) % pods;
  }

  #turn(index: number): ChangeBytes {
    this.#isReady[index] = !this.#isReady[index];
    const service = this.#serviceOf(index);
    return {
      service,
      pod: bytesOf(this.#pod(index)),
      slice: bytesOf(this.#slice(service)),
    };
  }

  #routed({ metadata, endpoints }: EndpointSlice): void {
    const service = `${metadata.namespace}/${metadata.name}`;
    const targets = endpoints.flatMap(({ addresses: [address], ready, targetRef }) =>
      ready === false || address === undefined
        ? []
        : [{ address, port: 8080, cluster, podUid: targetRef?.uid }],
    );
    this.#replica.routed(service, targets, this.now());
  }

  #serviceOf(pod: number): number {
    return Math.min(this.services - 1, Math.floor(pod / podsPerService));
  }

  #meta(name: string, service: number): object {
    this.#version += 1;
    return {
      name,
      namespace: `team-${Math.floor(service / servicesPerNamespace)}`,
      uid: `6f1c9d2e-0b7a-4c55-9a61-${name.padStart(12, "0")}`,
      resourceVersion: String(this.#version),
      creationTimestamp: "2026-01-02T03:04:05Z",
    };
  }

  #service(index: number): object {
    return {
      metadata: this.#meta(`service-${index}`, index),
      spec: {
        selector: { app: `service-${index}` },
        ports: [{ name: "http", port: 80, targetPort: "http" }],
        ipFamilies: ["IPv4"],
      },
    };
  }

  #pod(index: number): object {
    const service = this.#serviceOf(index);
    const status = this.#isReady[index] === true ? "True" : "False";
    const labels = { app: `service-${service}`, "pod-template-hash": `h${service}` };
    return {
      metadata: { ...this.#meta(`pod-${index}`, service), labels },
      spec: {
        nodeName: `node-${Math.floor(index / podsPerNode)}`,
        containers: [{ name: "main", ports: [{ name: "http", containerPort: 8080 }] }],
      },
      status: {
        phase: "Running",
        podIP: addressOf(index),
        podIPs: [{ ip: addressOf(index) }],
        conditions: [{ type: "Ready", status, lastTransitionTime: "2026-01-02T03:04:05Z" }],
      },
    };
  }

  /** The slice has its service's name here. */
  #slice(service: number): object {
    const from = Math.ceil(service * podsPerService);
    const to = Math.min(this.pods, Math.ceil((service + 1) * podsPerService));
    const endpoints = Array.from({ length: to - from }, (_, offset) => {
      const index = from + offset;
      return {
        addresses: [addressOf(index)],
        conditions: { ready: this.#isReady[index] },
        targetRef: {
          kind: "Pod",
          name: `pod-${index}`,
          uid: `6f1c9d2e-0b7a-4c55-9a61-${`pod-${index}`.padStart(12, "0")}`,
        },
      };
    });
    const name = `service-${service}`;
    return {
      metadata: {
        ...this.#meta(name, service),
        labels: { "kubernetes.io/service-name": name },
      },
      addressType: "IPv4",
      ports: [{ name: "http", port: 8080, protocol: "TCP" }],
      endpoints,
    };
  }
}

/** As the intake of a reflector does it. */
function storeOne<T extends Projected>(store: Store<T>, kind: Kind<T>, bytes: Buffer): Change<T> {
  const raw = parseWithoutManagedFields(bytes);
  const named = identify(raw);
  const previous = named && store.get(named.namespace, named.name);
  const object = kind.project(raw, previous);
  store.set(object);
  return previous === undefined
    ? { type: "added", object, learntBy: "watch" }
    : { type: "updated", object, previous, learntBy: "watch" };
}

function bytesOf(object: object): Buffer {
  return Buffer.from(JSON.stringify(object));
}

function addressOf(index: number): string {
  return `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`;
}
