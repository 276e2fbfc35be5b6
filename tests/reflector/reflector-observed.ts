// One reflector under observation, with the truth about its collection and with everything it
// delivered to its handlers.

import { endpointSliceKind as storedSlices } from "../../src/apiserver/kinds/endpoint-slice.ts";
import { nodeKind as storedNodes } from "../../src/apiserver/kinds/node.ts";
import { podKind as storedPods } from "../../src/apiserver/kinds/pod.ts";
import { scopePrefix } from "../../src/apiserver/listwatch/resource-names.ts";
import type { Storage } from "../../src/apiserver/storage/storage.ts";
import type { Environment } from "../../src/environment/environment.ts";
import type { KubeClient, KubeRequest } from "../../src/kube/client/client.ts";
import { endpointSliceKind } from "../../src/kube/kinds/endpoint-slice.ts";
import { type Kind, objectKey, type Projected } from "../../src/kube/kinds/kind.ts";
import { nodeKind } from "../../src/kube/kinds/node.ts";
import { podKind } from "../../src/kube/kinds/pod.ts";
import { Reflector } from "../../src/kube/reflector/reflector.ts";
import { listPageSize } from "../../src/kube/reflector/reflector-request.ts";
import { compareResourceVersions } from "../../src/kube/reflector/resource-version.ts";
import type { Change } from "../../src/kube/store/store-change.ts";
import type { TestServer } from "./reflector-servers.ts";
import { Truth } from "./reflector-truth.ts";
import { stayingPrefix } from "./reflector-writers.ts";

export interface ObservedKind {
  readonly watched: Kind<Projected>;
  readonly stored: typeof storedPods;
}

export const observedPods: ObservedKind = { watched: podKind, stored: storedPods };
export const observedKinds: readonly ObservedKind[] = [
  observedPods,
  { watched: endpointSliceKind, stored: storedSlices },
  { watched: nodeKind, stored: storedNodes },
];

export interface ObservedOptions {
  readonly name: string;
  readonly host: string;
  readonly environment: Environment;
  readonly storage: Storage;
  readonly kind: ObservedKind;
  readonly namespace?: string | undefined;
  /** Only objects whose label `app` is this. */
  readonly app?: string | undefined;
  readonly pageSize: number;
  readonly initialList: "watchlist" | "pages";
  /** Each request goes to one of them by chance, as behind a load balancer. */
  readonly servers: readonly TestServer[];
  readonly witness?: TestServer | undefined;
}

export class Observed {
  readonly options: ObservedOptions;
  readonly truth: Truth;
  readonly reflector: Reflector<Projected>;
  /** The store's content, rebuilt from the deliveries. */
  readonly replayed = new Map<string, Projected>();
  /** Wrong deliveries, in the order in which they happened. */
  readonly wrongDeliveries: string[] = [];
  /** The newest version that was delivered of each key, deletions included. */
  readonly #newest = new Map<string, string>();

  constructor(options: ObservedOptions) {
    const { environment, kind, namespace, app, storage, host, name, witness } = options;
    this.options = options;
    const { clock, timers, random, log } = environment;
    this.truth = new Truth({
      storage,
      now: () => clock.monotonicMs(),
      prefix: scopePrefix(kind.stored, namespace),
      keyStart: kind.stored.prefix.length,
      matches: (object) => app === undefined || object.metadata.labels?.["app"] === app,
    });
    this.reflector = new Reflector<Projected>({
      kind: kind.watched,
      client: this.#client(),
      ...(witness === undefined ? {} : { witness: witness.client(host, name) }),
      cluster: "test",
      ...(namespace === undefined ? {} : { namespace }),
      ...(app === undefined ? {} : { labelSelector: `app=${app}` }),
      indexes: {},
      handlers: [(change) => this.#onDelivery(change)],
      initialList: options.initialList,
      clock,
      timers,
      random,
      log,
    });
  }

  /** The staying objects that the store lacks. */
  missing(): readonly string[] {
    const staying = [...this.truth.latest().keys()].filter((key) => key.includes(stayingPrefix));
    const held = new Set([...this.reflector.store].map((object) => objectKey(object.metadata)));
    return staying.filter((key) => !held.has(key));
  }

  describe(): string {
    const { name, host, kind, namespace, app, pageSize, initialList, servers } = this.options;
    const where = servers.map((server) => server.name).join(" or ");
    const scope = `${namespace ?? "all namespaces"}${app === undefined ? "" : `, app=${app}`}`;
    const witness =
      this.options.witness === undefined ? "" : `, witness ${this.options.witness.name}`;
    return (
      `${name} on ${host}: ${kind.watched.resource} in ${scope} from ${where}, ` +
      `${initialList}, ${pageSize} a page${witness}`
    );
  }

  #onDelivery(change: Change<Projected>): void {
    const key = objectKey(change.object.metadata);
    const problem = this.#problemWith(key, change);
    if (problem !== undefined) {
      const { resourceVersion } = change.object.metadata;
      this.wrongDeliveries.push(
        `${change.type} ${key}@${resourceVersion} by ${change.learntBy}: ${problem}`,
      );
    }
    this.#newest.set(key, change.object.metadata.resourceVersion);
    if (change.type === "deleted") {
      this.replayed.delete(key);
    } else {
      this.replayed.set(key, change.object);
    }
    if (this.reflector.synced && this.missing().length > 0) {
      this.wrongDeliveries.push(`while ${key} was delivered, ${this.missing().join()} was missing`);
    }
  }

  /** Why this cannot have followed what was delivered before. */
  #problemWith(key: string, change: Change<Projected>): string | undefined {
    const known = this.replayed.get(key);
    const before = this.#newest.get(key);
    const version = change.object.metadata.resourceVersion;
    if (change.type === "deleted" && change.finalStateUnknown) {
      return change.object === known ? undefined : `not what was there: ${versionOf(known)}`;
    }
    if (before !== undefined && !((compareResourceVersions(version, before) ?? 0) > 0)) {
      return `version ${before} had been delivered`;
    }
    switch (change.type) {
      case "added":
        return known === undefined ? undefined : `it was there: ${versionOf(known)}`;
      case "updated": {
        const isSame =
          known === change.previous && known.metadata.uid === change.object.metadata.uid;
        return isSame ? undefined : `not a version of what was there: ${versionOf(known)}`;
      }
      case "deleted":
        return known === undefined ? "it was not there" : undefined;
    }
  }

  #client(): KubeClient {
    const { servers, host, name, pageSize, environment } = this.options;
    const clients = servers.map((server) => server.client(host, name));
    const choose = (request: KubeRequest): [KubeClient, KubeRequest] => {
      const client = clients[Math.floor(environment.random.next() * clients.length)];
      if (client === undefined) {
        throw new RangeError("a reflector needs a server");
      }
      const path = request.path.replace(`limit=${listPageSize}`, `limit=${pageSize}`);
      return [client, { ...request, path }];
    };
    return {
      request: (request) => {
        const [client, smaller] = choose(request);
        return client.request(smaller);
      },
      stream: (request) => {
        const [client, smaller] = choose(request);
        return client.stream(smaller);
      },
    };
  }
}

function versionOf(object: Projected | undefined): string {
  return object === undefined ? "nothing" : `version ${object.metadata.resourceVersion}`;
}
