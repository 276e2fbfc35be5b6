// One cluster in virtual time: an API server without controllers, so that pods and slices change when
// the test says so, and replicas of `lockstep assist` on machines of their own.
import { Registry } from "prom-client";
import { ApiServer } from "../../src/apiserver/api-server.ts";
import {
  serviceAccountGroups,
  serviceAccountName,
} from "../../src/apiserver/http/authentication.ts";
import type { RequestObserver } from "../../src/apiserver/http/request-record.ts";
import { textAt } from "../../src/apiserver/kinds/fields.ts";
import { firstRevision, MemoryStorage } from "../../src/apiserver/storage/memory-storage.ts";
import { readyIn } from "../../src/decide/assisting/plan-twin.ts";
import type { TwinSelection } from "../../src/decide/assisting/twin-selection.ts";
import { type KubeClient, type KubeRequest, parseJson } from "../../src/kube/client/client.ts";
import { HttpKubeClient } from "../../src/kube/client/http-client.ts";
import { fixedAccess } from "../../src/kube/credentials/credentials.ts";
import { type EndpointSlice, endpointSliceKind } from "../../src/kube/kinds/endpoint-slice.ts";
import { isRecord, listAt, type RawRecord } from "../../src/kube/kinds/fields.ts";
import { podKind } from "../../src/kube/kinds/pod.ts";
import { type Service, serviceKind } from "../../src/kube/kinds/service.ts";
import { podIdentity } from "../../src/kube/leader/leader-identity.ts";
import {
  AssistReplica,
  type AssistReplicaOptions,
} from "../../src/outputs/twins/assist-replica.ts";
import type { WrittenTwin } from "../../src/outputs/twins/twin-keeper.ts";
import { type Simulation, simulate } from "../../src/simulation/simulation.ts";

export const slicesPath = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices";
export const servicesPath = "/api/v1/namespaces/shop/services";
const podsPath = "/api/v1/namespaces/shop/pods";

const host = "prod";
export const lease = { namespace: "lockstep", name: "lockstep-assist" };

/** A state that the storage has had, of the slices of a Service or of the pods. */
export interface StoredChange {
  readonly atMs: number;
  readonly of: "web" | "web-lockstep" | "pods";
  /** The last numbers of the addresses that are ready. */
  readonly ready: ReadonlySet<number>;
}

export interface AssistWorldOptions {
  /** The objects that give `lockstep assist` its rights; it may do everything when absent. */
  readonly rights?: readonly object[];
  readonly observers?: readonly RequestObserver[];
}

export interface RunningReplica {
  readonly replica: AssistReplica;
  readonly written: WrittenTwin[];
  /** `POST /api/v1/…` for each write that was sent, in order. */
  readonly requests: string[];
  readonly registry: Registry;
  /** The Lease is released. */
  stop(): Promise<void>;
  /** The machine is gone, and nothing is released. */
  crash(): void;
}

export class AssistWorld {
  readonly simulation: Simulation;
  server!: ApiServer;
  readonly #running = new Set<RunningReplica>();
  /** Of every pod that was ever created, by its name. */
  readonly #uids = new Map<string, string>();
  #started = 0;

  #storage: MemoryStorage | undefined;

  readonly #options: AssistWorldOptions;

  constructor(simulation: Simulation, options: AssistWorldOptions = {}) {
    this.simulation = simulation;
    this.#options = options;
  }

  async start(): Promise<void> {
    const environment = this.simulation.host(host);
    const storage = new MemoryStorage(environment);
    this.#storage = storage;
    const { rights, observers = [] } = this.#options;
    const account = {
      name: serviceAccountName("lockstep", "lockstep-assist"),
      groups: serviceAccountGroups("lockstep"),
    };
    const tokens = new Map([
      ["token", { name: "admin", groups: ["system:masters"] }],
      ["assist", rights === undefined ? { name: "admin", groups: ["system:masters"] } : account],
    ]);
    this.server = new ApiServer({
      ...environment,
      name: host,
      gitVersion: "v1.33.1",
      authentication: { tokens },
      storage,
      observers,
      ...(rights !== undefined && { authorization: "RBAC", objects: rights }),
    });
    await this.server.start({ host, port: 6443 });
    const namespaces = rights === undefined ? ["shop", "lockstep"] : ["shop"];
    for (const name of namespaces) {
      await this.call("POST", "/api/v1/namespaces", { metadata: { name } });
    }
  }

  async stop(): Promise<void> {
    for (const running of this.#running) await running.stop();
    await this.server.stop();
  }

  client(machine: string, token = "token"): HttpKubeClient {
    const access = fixedAccess({ name: host, server: `https://${host}:6443`, token });
    const environment = this.simulation.host(machine);
    return new HttpKubeClient({ ...environment, cluster: access, userAgent: machine });
  }

  /** A request by a person. */
  async call(method: KubeRequest["method"], path: string, body?: unknown): Promise<unknown> {
    const contentType = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const request = { verb: "get", method, path, contentType } as const;
    return parseJson(
      await this.client("person").request(body === undefined ? request : { ...request, body }),
    );
  }

  async createService(name: string, fields: { metadata?: object; spec?: object } = {}) {
    await this.call("POST", servicesPath, {
      metadata: { name, ...fields.metadata },
      spec: {
        selector: { app: name },
        ports: [{ name: "http", port: 80, targetPort: 8080 }],
        ...fields.spec,
      },
    });
  }

  /** A ready pod of this service, with the address 10.0.0.<number>. */
  async createPod(service: string, number: number, fields: { ports?: object[] } = {}) {
    const pod = await this.call("POST", podsPath, {
      metadata: { name: `${service}-${number}`, labels: { app: service } },
      spec: { nodeName: "n1", containers: [{ name: "c", image: "c", ports: fields.ports ?? [] }] },
    });
    this.#uids.set(`${service}-${number}`, textAt(pod, "metadata", "uid"));
    await this.setReady(service, number, true);
  }

  async setReady(service: string, number: number, ready: boolean): Promise<void> {
    const status = ready ? "True" : "False";
    await this.call("PATCH", `${podsPath}/${service}-${number}/status`, {
      status: {
        phase: "Running",
        podIP: `10.0.0.${number}`,
        podIPs: [{ ip: `10.0.0.${number}` }],
        conditions: [
          { type: "Ready", status },
          { type: "ContainersReady", status },
        ],
      },
    });
  }

  async deletePod(service: string, number: number): Promise<void> {
    const options = { apiVersion: "v1", kind: "DeleteOptions", gracePeriodSeconds: 0 };
    await this.call("DELETE", `${podsPath}/${service}-${number}`, options);
  }

  /** The slice of the endpoint slice controller lists these pods as ready. */
  async publish(service: string, numbers: readonly number[], name = `${service}-x1`) {
    const endpoints = numbers.map((number) => ({
      addresses: [`10.0.0.${number}`],
      conditions: { ready: true, serving: true, terminating: false },
      targetRef: this.#targetRef(`${service.replace(/-lockstep$/, "")}-${number}`),
    }));
    const existing = (await this.slices()).some(({ metadata }) => metadata.name === name);
    if (existing) {
      await this.call("PATCH", `${slicesPath}/${name}`, { endpoints });
      return;
    }
    await this.call("POST", slicesPath, {
      metadata: {
        name,
        labels: {
          "kubernetes.io/service-name": service,
          "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        },
      },
      addressType: "IPv4",
      ports: [{ name: "http", port: 8080 }],
      endpoints,
    });
  }

  async slices(): Promise<readonly EndpointSlice[]> {
    return (await this.#list(slicesPath)).map((raw) => endpointSliceKind.project(raw));
  }

  async slicesOf(service: string): Promise<readonly EndpointSlice[]> {
    return (await this.slices()).filter(
      ({ metadata }) => metadata.labels["kubernetes.io/service-name"] === service,
    );
  }

  /** The last numbers of the addresses that a Service's slices list as ready. */
  async ready(service: string): Promise<readonly number[]> {
    return lastNumbers(await this.slicesOf(service));
  }

  async service(name: string): Promise<Service | undefined> {
    const found = (await this.#list(servicesPath)).map((raw) => serviceKind.project(raw));
    return found.find(({ metadata }) => metadata.name === name);
  }

  async rawService(name: string): Promise<RawRecord> {
    const raw = await this.call("GET", `${servicesPath}/${name}`);
    return isRecord(raw) ? raw : {};
  }

  /** The ready pods, as they are in the storage now. */
  async readyPods(): Promise<readonly number[]> {
    const pods = (await this.#list(podsPath)).map((raw) => podKind.project(raw));
    return pods.filter(({ ready }) => ready === "True").map(({ podIP }) => lastNumber(podIP));
  }

  /** Every state of the Services' slices and of the pods from now on. */
  follow() {
    const changes: StoredChange[] = [];
    const slices = new Map<string, StoredSlice>();
    const pods = new Map<string, StoredPod>();
    const note = (of: StoredChange["of"], ready: Iterable<number>) =>
      void changes.push({ atMs: this.simulation.now(), of, ready: new Set(ready) });
    const watch = this.#storage?.watch("", firstRevision, {
      onEvent: (event) => {
        const key = event.type === "put" ? event.record.key : event.key;
        const value = event.type === "put" ? event.record.value : undefined;
        if (key.includes("/endpointslices/")) {
          if (value === undefined) slices.delete(key);
          else slices.set(key, parsed<StoredSlice>(value));
          for (const of of ["web", "web-lockstep"] as const) {
            note(
              of,
              [...slices.values()].flatMap((slice) => listedBy(slice, of)),
            );
          }
        } else if (key.includes("/pods/")) {
          if (value === undefined) pods.delete(key);
          else pods.set(key, parsed<StoredPod>(value));
          note("pods", [...pods.values()].flatMap(readyNumber));
        }
      },
      onProgress: () => undefined,
      onLost: (error) => {
        throw error;
      },
    });
    return { changes, stop: () => watch?.stop() };
  }

  startReplica(
    selection: Partial<TwinSelection> = { services: new Set(["shop/web"]) },
    options: Partial<AssistReplicaOptions> = {},
  ): RunningReplica {
    this.#started += 1;
    const machine = `assist-${this.#started}`;
    const environment = this.simulation.host(machine);
    const written: WrittenTwin[] = [];
    const requests: string[] = [];
    const registry = new Registry();
    const replica = new AssistReplica({
      ...environment,
      client: this.client(machine, "assist"),
      leaseClient: this.client(machine, "assist"),
      cluster: host,
      selection: { namespaces: new Set(), services: new Set(), ...selection },
      lease,
      identity: podIdentity(machine, this.simulation.random.uuid()),
      metrics: registry,
      onWritten: (one) => written.push(one),
      ...options,
      writeClient: recording(this.client(machine, "assist"), requests),
    });
    const abort = new AbortController();
    const done = replica.run(abort.signal);
    const stop = async (): Promise<void> => {
      abort.abort(new Error("stopped by the test"));
      await done;
      this.#running.delete(running);
    };
    const crash = (): void => this.simulation.network.isolate(machine);
    const running = { replica, written, requests, registry, stop, crash };
    this.#running.add(running);
    return running;
  }

  /** As Kubernetes writes it: with the pod's uid. */
  #targetRef(name: string): object {
    return { kind: "Pod", namespace: "shop", name, uid: this.#uids.get(name) };
  }

  async #list(path: string): Promise<readonly RawRecord[]> {
    const list = await this.call("GET", path);
    return isRecord(list) ? listAt(list, "items").filter(isRecord) : [];
  }
}

export function lastNumbers(slices: readonly EndpointSlice[]): readonly number[] {
  return [...readyIn(slices)].map(lastNumber).sort((a, b) => a - b);
}

function lastNumber(address: string): number {
  return Number(address.slice(address.lastIndexOf(".") + 1));
}

function parsed<T>(value: Uint8Array): T {
  return JSON.parse(Buffer.from(value).toString("utf8")) as T;
}

/** The parts of stored objects that are judged; read without any code of the product. */
interface StoredSlice {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
  readonly endpoints:
    | readonly {
        readonly addresses: readonly string[];
        readonly conditions?: { readonly ready?: boolean };
      }[]
    | null;
}

interface StoredPod {
  readonly status?: {
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

function listedBy({ metadata, endpoints }: StoredSlice, service: string): readonly number[] {
  if (metadata.labels?.["kubernetes.io/service-name"] !== service) return [];
  return (endpoints ?? [])
    .filter(({ conditions }) => conditions?.ready !== false)
    .flatMap(({ addresses }) => addresses.slice(0, 1).map(lastNumber));
}

function readyNumber({ status }: StoredPod): readonly number[] {
  const isReady = status?.conditions?.some(
    ({ type, status: value }) => type === "Ready" && value === "True",
  );
  return isReady === true && status?.podIP !== undefined ? [lastNumber(status.podIP)] : [];
}

export function inAssistWorld(
  run: (world: AssistWorld) => Promise<void>,
  seed = 1,
  options: AssistWorldOptions = {},
): Promise<void> {
  return simulate({ seed }, async (simulation) => {
    const world = new AssistWorld(simulation, options);
    await world.start();
    await run(world);
    await world.stop();
  });
}

function recording(client: KubeClient, requests: string[]): KubeClient {
  return {
    request: async (request) => {
      if (request.method !== "GET") requests.push(`${request.method} ${request.path}`);
      return await client.request(request);
    },
    stream: (request) => client.stream(request),
  };
}
