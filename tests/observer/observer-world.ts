// Only for tests: clusters in virtual time that are nothing but their API servers, with objects
// written by hand, and an observer of them that has exactly the rights it is given.

import { ApiServer } from "../../src/apiserver/api-server.ts";
import {
  serviceAccountGroups,
  serviceAccountName,
} from "../../src/apiserver/http/authentication.ts";
import { allKinds } from "../../src/apiserver/kinds/all-kinds.ts";
import { textAt } from "../../src/apiserver/kinds/fields.ts";
import { MemoryStorage } from "../../src/apiserver/storage/memory-storage.ts";
import { type KubeRequest, parseJson } from "../../src/kube/client/client.ts";
import { HttpKubeClient } from "../../src/kube/client/http-client.ts";
import { fixedAccess } from "../../src/kube/credentials/credentials.ts";
import type { ObservedForm } from "../../src/observe/cluster-observation.ts";
import { Observer, type ObserverOptions } from "../../src/observe/observer.ts";
import { type Simulation, simulate } from "../../src/simulation/simulation.ts";
import type { Journey } from "../../src/timeline/journey.ts";
import type { JourneyEvent } from "../../src/timeline/journey-event.ts";

export interface WatchOptions
  extends Pick<ObserverOptions, "namespaces" | "services" | "maxQps" | "nodes" | "earlier"> {
  readonly clusters: readonly string[];
  readonly accessClusters?: readonly string[];
  readonly form?: ObservedForm;
  /** `admin` unless given; `observer` is the account that deploy/rbac makes. */
  readonly user?: "admin" | "reader" | "observer";
}

export interface Watching {
  readonly observer: Observer;
  readonly events: readonly JourneyEvent[];
  /** Journeys that are over. */
  readonly over: readonly Journey[];
}

export interface ClusterOptions {
  readonly without?: readonly string[];
  /** Without rules every client may do everything, at no cost. */
  readonly hasRules?: boolean;
  /** The objects at the start. */
  readonly objects?: readonly object[];
}

export interface AllowOptions {
  readonly namespace?: string;
  readonly verbs?: readonly string[];
}

/** One request of the observer. */
export interface Seen {
  readonly atMs: number;
  /** `GET /api/v1/pods`, or `WATCH`. */
  readonly what: string;
  readonly code: number;
}

export const observerHost = "lockstep";

const tokens = new Map([
  ["admin", { name: "admin", groups: ["system:masters"] }],
  ["reader", { name: "reader", groups: ["system:authenticated"] }],
  [
    "observer",
    {
      name: serviceAccountName("lockstep", "lockstep-observer"),
      groups: serviceAccountGroups("lockstep"),
    },
  ],
]);

const rbac = "/apis/rbac.authorization.k8s.io/v1";

export async function inObserverWorld(
  run: (world: ObserverWorld) => Promise<void>,
  seed = 1,
): Promise<void> {
  await simulate({ seed }, async (simulation) => {
    const world = new ObserverWorld(simulation);
    await run(world);
    await world.stop();
  });
}

export class ObserverWorld {
  readonly simulation: Simulation;
  readonly servers = new Map<string, ApiServer>();
  readonly #seen = new Map<string, Seen[]>();
  readonly #observers: Observer[] = [];
  /** By address, of the last pod that had it in any cluster. */
  readonly #uids = new Map<string, string>();
  #given = 0;

  constructor(simulation: Simulation) {
    this.simulation = simulation;
  }

  /** The observer's requests to a cluster, in order. */
  seen(cluster: string): readonly Seen[] {
    return this.#seen.get(cluster) ?? [];
  }

  /** With the namespaces `shop` and `other`; `without` are API groups that it does not have. */
  async startCluster(name: string, options: ClusterOptions = {}): Promise<void> {
    const { without = [], hasRules = false, objects = [] } = options;
    const environment = this.simulation.host(name);
    const seen: Seen[] = [];
    this.#seen.set(name, seen);
    const server = new ApiServer({
      ...environment,
      storage: new MemoryStorage(environment),
      name,
      gitVersion: "v1.33.1",
      authentication: { tokens },
      ...(hasRules && { authorization: "RBAC" }),
      kinds: allKinds.filter(({ group }) => !without.includes(group)),
      objects,
      observers: [
        {
          finished: ({ request }, { code }) => {
            if (request.headers["user-agent"] !== observerHost) return;
            const [path = "", query = ""] = request.target.split("?");
            const what = query.includes("watch=true") ? "WATCH" : request.method;
            seen.push({ atMs: this.simulation.now(), what: `${what} ${path}`, code });
          },
        },
      ],
    });
    await server.start({ host: name, port: 6443 });
    this.servers.set(name, server);
    for (const namespace of ["shop", "other"]) {
      const metadata = { name: namespace };
      await this.call(name, "POST", "/api/v1/namespaces", { metadata });
    }
  }

  /** Lets the reader list and watch these, in all namespaces unless one is given. */
  async allow(
    cluster: string,
    resources: readonly string[],
    { namespace, verbs = ["list", "watch"] }: AllowOptions = {},
  ): Promise<void> {
    this.#given += 1;
    const name = `given-${this.#given}`;
    const where = namespace === undefined ? "" : `/namespaces/${namespace}`;
    const kind = namespace === undefined ? "ClusterRole" : "Role";
    await this.call(cluster, "POST", `${rbac}${where}/${kind.toLowerCase()}s`, {
      metadata: { name },
      rules: [{ apiGroups: ["", "discovery.k8s.io"], resources, verbs }],
    });
    await this.call(cluster, "POST", `${rbac}${where}/${kind.toLowerCase()}bindings`, {
      metadata: { name },
      roleRef: { kind, name },
      subjects: [{ kind: "User", name: "reader" }],
    });
  }

  watch(options: WatchOptions): Watching {
    const { clusters, accessClusters = [], form = "auto", user = "admin", ...bounds } = options;
    const of = (cluster: string) => ({ cluster, client: this.client(cluster, user), form });
    const events: JourneyEvent[] = [];
    const over: Journey[] = [];
    const observer = new Observer({
      ...this.simulation.host(observerHost),
      ...bounds,
      clusters: clusters.map(of),
      accessClusters: accessClusters.map(of),
      onEvent: (event) => {
        events.push(event);
        if (event.type === "over") over.push(event.journey);
      },
    });
    this.#observers.push(observer);
    return { observer, events, over };
  }

  client(cluster: string, token: string): HttpKubeClient {
    const server = `https://${cluster}:6443`;
    return new HttpKubeClient({
      ...this.simulation.host(observerHost),
      cluster: fixedAccess({ name: cluster, server, token }),
      userAgent: observerHost,
    });
  }

  async addService(cluster: string, name: string, namespace = "shop"): Promise<void> {
    await this.call(cluster, "POST", `/api/v1/namespaces/${namespace}/services`, {
      metadata: { name },
      spec: { selector: { app: name }, ports: [{ name: "http", port: 80, targetPort: 8080 }] },
    });
  }

  /** A pod that is ready, named `app-n`. */
  async addPod(cluster: string, name: string, address: string, namespace = "shop"): Promise<void> {
    const pods = `/api/v1/namespaces/${namespace}/pods`;
    const labels = { app: name.split("-")[0] };
    const pod = await this.call(cluster, "POST", pods, {
      metadata: { name, labels },
      spec: { nodeName: "n", containers: [{ name: "c", image: "web" }] },
    });
    this.#uids.set(address, textAt(pod, "metadata", "uid"));
    await this.call(cluster, "PATCH", `${pods}/${name}/status`, {
      status: {
        phase: "Running",
        podIP: address,
        podIPs: [{ ip: address }],
        conditions: [{ type: "Ready", status: "True" }],
      },
    });
  }

  async removePod(cluster: string, name: string, namespace = "shop"): Promise<void> {
    const path = `/api/v1/namespaces/${namespace}/pods/${name}?gracePeriodSeconds=0`;
    await this.call(cluster, "DELETE", path);
  }

  /** Writes the slice of a service, or a copy of one with labels of its own. */
  async publish(
    cluster: string,
    name: string,
    addresses: readonly string[],
    labels: Readonly<Record<string, string>> = { "kubernetes.io/service-name": name },
  ): Promise<void> {
    const slices = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices";
    const endpoints = addresses.map((address) => {
      const uid = this.#uids.get(address);
      const targetRef = { kind: "Pod", namespace: "shop", uid };
      const shared = { addresses: [address], conditions: { ready: true } };
      return uid === undefined ? shared : { ...shared, targetRef };
    });
    const body = { addressType: "IPv4", ports: [{ name: "http", port: 8080 }], endpoints };
    const slice = { metadata: { name: `${name}-1`, labels }, ...body };
    const path = `${slices}/${name}-1`;
    const isThere = await this.call(cluster, "GET", path).then(
      () => true,
      () => false,
    );
    if (isThere) await this.call(cluster, "PATCH", path, { endpoints });
    else await this.call(cluster, "POST", slices, slice);
  }

  async call(
    cluster: string,
    method: KubeRequest["method"],
    path: string,
    body?: object,
  ): Promise<unknown> {
    const contentType = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const client = new HttpKubeClient({
      ...this.simulation.host("admin"),
      cluster: fixedAccess({ name: cluster, server: `https://${cluster}:6443`, token: "admin" }),
      userAgent: "admin",
    });
    const request = { verb: "get", method, path, contentType } as const;
    return parseJson(await client.request(body === undefined ? request : { ...request, body }));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#observers.map((observer) => observer.stop()));
    for (const server of this.servers.values()) await server.stop();
  }
}

/** The outcome of each change, without times. */
export function summary(journeys: readonly Journey[]): readonly string[] {
  return journeys.map(({ endpoint, direction, outcome, hops }) => {
    const shown = hops.map(({ hop, witness, state }) => `${hop} ${witness} ${state.type}`);
    const where = `${endpoint.cluster}: ${endpoint.service} ${endpoint.address}`;
    return `${where} ${direction}, ${outcome}: ${shown.join(", ")}`;
  });
}
