// Only for tests: publishes the endpoints of the clusters, some time after the pods have changed,
// as slices over which they are spread and moved, or as Endpoints; and copies them into the access
// cluster.
import { type Random, randomBetween, randomInt } from "../../src/environment/random.ts";
import type { ProofCluster } from "./proof-cluster.ts";
import {
  byHand,
  endpointsOf,
  type ListedEndpoint,
  listedOf,
  type ProofService,
  services,
  sliceOf,
} from "./proof-services.ts";
import {
  importedServiceLabel,
  serviceNameLabel,
  sourceClusterLabel,
} from "./reported-endpoints.ts";
import type { UnderWay } from "./under-way.ts";

export interface ProofPublisherOptions {
  readonly random: Random;
  readonly underWay: UnderWay;
  readonly access: ProofCluster;
  /** Something has been published. */
  readonly onPublished: () => void;
}

const publishedLateMs = 5_000;
const copiedLateMs = 3_000;

export class ProofPublisher {
  readonly #options: ProofPublisherOptions;
  /** By service and pod, in which of the service's two slices its endpoint is. */
  readonly #placed = new Map<string, number>();

  constructor(options: ProofPublisherOptions) {
    this.#options = options;
  }

  publishLater(cluster: ProofCluster): void {
    const { random, underWay } = this.#options;
    for (const service of services) {
      if (service === byHand) continue;
      underWay.later(randomBetween(random, 0, publishedLateMs), () =>
        this.#publish(cluster, service),
      );
    }
  }

  /** Some of a few addresses; `number` tells the clusters' apart. */
  async publishByHand(cluster: ProofCluster, number: number): Promise<void> {
    const { random } = this.#options;
    const addresses = [1, 2, 3, 4].filter(() => random.next() < 0.5);
    const endpoints = addresses.map((one) => ({
      address: `10.9.${number}.${one}`,
      uid: "",
      isReady: true,
    }));
    await this.#write(cluster, byHand, [endpoints, []]);
    this.#options.onPublished();
  }

  /**
   * Over two slices; an endpoint that moves from the first to the second is in both for a moment.
   */
  async #publish(cluster: ProofCluster, service: ProofService): Promise<void> {
    const { random } = this.#options;
    if (await cluster.has("services", service.path)) {
      const parts: [ListedEndpoint[], ListedEndpoint[]] = [[], []];
      for (const endpoint of listedOf(cluster.truth.endpointsAt("pod", service.path))) {
        const place = `${service.path} ${endpoint.uid}`;
        const part = this.#placed.get(place) ?? randomInt(random, 2);
        const next = part === 0 && random.next() < 0.2 ? 1 : part;
        this.#placed.set(place, next);
        parts[next === 0 ? 0 : 1].push(endpoint);
      }
      await this.#write(cluster, service, parts);
    }
    if (service.isCopied) this.#copyLater(cluster, service);
    this.#options.onPublished();
  }

  async #write(
    cluster: ProofCluster,
    { path, ports }: ProofService,
    parts: readonly [readonly ListedEndpoint[], readonly ListedEndpoint[]],
  ): Promise<void> {
    // Those of pods that are not ready are listed too, and are none.
    const ready = new Set(parts.flat().map(({ uid }) => uid));
    const gone = cluster.truth
      .endpointsAt("published", path)
      .filter(({ uid }) => uid !== "" && !ready.has(uid));
    const unready = listedOf(gone).map((one) => ({ ...one, isReady: false }));
    if (cluster.form === "endpoints") {
      const body = endpointsOf(ports, [...parts[0], ...parts[1], ...unready]);
      await cluster.put("endpoints", path, { body });
      return;
    }
    const labels = { [serviceNameLabel]: path.split("/")[1] ?? "" };
    const [first, second] = [[...parts[0], ...unready], parts[1]];
    const write = (part: number, endpoints: readonly ListedEndpoint[]): Promise<void> =>
      cluster.put("endpointslices", `${path}-${part}`, { labels, body: sliceOf(ports, endpoints) });
    await write(2, second);
    await write(1, first);
  }

  #copyLater(cluster: ProofCluster, { path, ports }: ProofService): void {
    const { random, underWay, access } = this.#options;
    underWay.later(randomBetween(random, 0, copiedLateMs), async () => {
      const [namespace, name = ""] = path.split("/");
      await access.put("endpointslices", `${namespace}/copy-${cluster.name}`, {
        labels: { [sourceClusterLabel]: cluster.name, [importedServiceLabel]: name },
        body: sliceOf(ports, listedOf(cluster.truth.endpointsAt("published", path))),
      });
    });
  }
}
