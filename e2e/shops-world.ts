// For tests of traffic: a cluster with shops (a Deployment, a Service and a host each, behind one
// Ingress), and what an administrator does to them. Everything a test started is ended with it.

import { webcrypto } from "node:crypto";
import type { ApiServer } from "../src/apiserver/api-server.ts";
import type { Environment } from "../src/environment/environment.ts";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { parseJson } from "../src/kube/client/client.ts";
import { HttpKubeClient } from "../src/kube/client/http-client.ts";
import type { ClusterAccess } from "../src/kube/credentials/credentials.ts";
import {
  isRecord,
  listAt,
  optionalString,
  type RawRecord,
  recordAt,
} from "../src/kube/kinds/fields.ts";
import type { Cluster, ClusterServer, ReachableServer } from "../src/lab/cluster.ts";
import type { ControllerFlags } from "../src/lab/controllers/flags.ts";
import { freePort } from "../src/lab/free-port.ts";
import { type KubeconfigContext, kubeconfig } from "../src/lab/kubeconfig.ts";
import { type Lab, startLab } from "../src/lab/lab.ts";

export interface ShopsOptions {
  readonly shops: number;
  /** Pods of each shop. */
  readonly replicas: number;
  /** Of the lab; two unless given. */
  readonly nodes?: number;
  /** Of the lab's controllers. */
  readonly flags?: Partial<ControllerFlags>;
  /** The time that a pod has to end; 30 s unless given. */
  readonly graceSeconds?: number;
  /** How the pods of a shop behave; see `lockstep lab --help`. */
  readonly annotations?: (shop: string, index: number) => Readonly<Record<string, string>>;
}

/** Where the shops are: the lab unless given. */
export interface ShopsHost {
  readonly access: ClusterAccess;
  /** How a client reaches it, for a kubeconfig. */
  readonly contexts: readonly KubeconfigContext[];
  stop(): Promise<void>;
}

export interface ShopPod {
  readonly shop: string;
  readonly name: string;
  readonly uid: string;
  readonly address: string;
  readonly node: string;
  readonly release: string;
  readonly isReady: boolean;
  readonly isLeaving: boolean;
}

export const ingressClass = "lockstep";

const loopback = "127.0.0.1";
const folderPrefix = "lockstep-e2e-shops-";
const firstRelease = "1";
const core = "/api/v1/namespaces/default";
const deployments = "/apis/apps/v1/namespaces/default/deployments";
const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const ingresses = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";

/** Below the limit of a test, so that it can say what it waited for. */
const longestWaitMs = 240_000;
const pollMs = 50;
const requestDeadlineMs = 30_000;

export class ShopsWorld {
  readonly environment: Environment;
  readonly shops: readonly string[];
  /** Of this world alone. */
  readonly folder: string;
  readonly #host: ShopsHost;
  readonly #lab: Lab | undefined;
  readonly #client: HttpKubeClient;
  readonly #options: ShopsOptions;
  readonly #undo: (() => Promise<void>)[] = [];
  readonly #published = new Set<string>();

  private constructor(
    options: ShopsOptions,
    given: {
      readonly environment: Environment;
      readonly folder: string;
      readonly host: ShopsHost;
      readonly lab?: Lab;
    },
  ) {
    this.#options = options;
    this.environment = given.environment;
    this.folder = given.folder;
    this.#host = given.host;
    this.#lab = given.lab;
    this.shops = Array.from({ length: options.shops }, (_, index) => `shop-${index + 1}`);
    this.#client = new HttpKubeClient({
      ...given.environment,
      cluster: this.access,
      userAgent: "e2e",
    });
  }

  /** In a lab of its own. Resolves when every pod of every shop is ready. */
  static async start(options: ShopsOptions): Promise<ShopsWorld> {
    const environment = quietEnvironment();
    const folder = await environment.files.temporaryDirectory(folderPrefix);
    const { flags = {}, nodes = 2 } = options;
    const size = { clusters: 1, apiservers: 1, nodes, host: loopback, firstPort: 0 };
    const lab = await startLab({ environment, crypto: webcrypto, ...size, flags });
    const { contexts } = lab;
    const host = { access: clusterOf(lab).access, contexts, stop: () => lab.stop() };
    return await ShopsWorld.#open(new ShopsWorld(options, { environment, folder, host, lab }));
  }

  /** In a cluster that is there, and that ends with this world. */
  static async startIn(host: ShopsHost, options: ShopsOptions): Promise<ShopsWorld> {
    const environment = quietEnvironment();
    const folder = await environment.files.temporaryDirectory(folderPrefix);
    return await ShopsWorld.#open(new ShopsWorld(options, { environment, folder, host }));
  }

  static async #open(world: ShopsWorld): Promise<ShopsWorld> {
    try {
      await world.#createShops();
      await world.released(firstRelease);
    } catch (error) {
      await world.stop();
      throw error;
    }
    return world;
  }

  /** Leads to the cluster, with every right. */
  get access(): ClusterAccess {
    return this.#host.access;
  }

  get contexts(): readonly KubeconfigContext[] {
    return this.#host.contexts;
  }

  /** The lab's, for what only a lab lets one do. */
  get cluster(): Cluster<ReachableServer> {
    if (this.#lab === undefined) throw new Error("these shops are not in a lab");
    return clusterOf(this.#lab);
  }

  /** The lab's only one, for its faults. */
  get apiServer(): ApiServer {
    const server = this.cluster.servers.find(isOfThisProcess);
    if (server === undefined) throw new Error("the lab's servers are processes of their own");
    return server.apiServer;
  }

  get hosts(): readonly string[] {
    return this.shops.map(hostOf);
  }

  /** Ends what was started last first. */
  atStop(undo: () => Promise<void>): void {
    this.#undo.push(undo);
  }

  async stop(): Promise<void> {
    for (const undo of this.#undo.splice(0).reverse()) await undo();
    await this.#host.stop();
    await this.environment.files.remove(this.folder);
  }

  async kubeconfigFile(): Promise<string> {
    const path = `${this.folder}/kubeconfig`;
    await this.environment.files.write(path, kubeconfig(this.#host.contexts), { mode: 0o600 });
    return path;
  }

  freePort(): Promise<number> {
    return freePort(this.environment, loopback);
  }

  /** A rolling restart of all shops at once. */
  async roll(release: string): Promise<void> {
    const body = { spec: { template: { metadata: { annotations: { release } } } } };
    const contentType = "application/merge-patch+json";
    const request = { verb: "patch", method: "PATCH", contentType, body } as const;
    const patch = (shop: string) =>
      this.#client.request({
        ...request,
        path: `${deployments}/${shop}`,
        deadlineMs: requestDeadlineMs,
      });
    await Promise.all(this.shops.map(patch));
  }

  /** The pods, once there are none but ready ones of this release, as many as asked for. */
  async released(release: string): Promise<readonly ShopPod[]> {
    const { shops, replicas } = this.#options;
    let pods: readonly ShopPod[] = [];
    await this.until(`every pod is a ready one of release ${release}`, async () => {
      pods = await this.pods();
      const isDone = (pod: ShopPod) => pod.release === release && pod.isReady && !pod.isLeaving;
      return pods.length === shops * replicas && pods.every(isDone);
    });
    return pods;
  }

  async pods(): Promise<readonly ShopPod[]> {
    const path = `${core}/pods`;
    const request = { verb: "list", method: "GET", path, deadlineMs: requestDeadlineMs } as const;
    const list = parseJson(await this.#client.request(request));
    return (isRecord(list) ? listAt(list, "items") : []).filter(isRecord).map(shopPod);
  }

  /** A service without a selector whose slice lists these addresses, behind a host of its own. */
  async publish(name: string, addresses: readonly string[]): Promise<void> {
    const ports = [{ name: "http", port: 8080 }];
    const endpoints = addresses.map((address) => ({ addresses: [address] }));
    const slice = {
      metadata: { name, labels: { "kubernetes.io/service-name": name } },
      addressType: "IPv4",
      ports,
      endpoints,
    };
    if (!this.#published.has(name)) {
      this.#published.add(name);
      const service = { ports: [{ name: "http", port: 80, targetPort: 8080 }] };
      await this.#create(`${core}/services`, { metadata: { name }, spec: service });
      await this.#create(slices, slice);
      const rules = [{ host: hostOf(name), http: { paths: pathsTo(name) } }];
      const spec = { ingressClassName: ingressClass, rules };
      await this.#create(ingresses, { metadata: { name }, spec });
      return;
    }
    await this.#client.request({
      verb: "patch",
      method: "PATCH",
      path: `${slices}/${name}`,
      contentType: "application/merge-patch+json",
      body: { endpoints },
      deadlineMs: requestDeadlineMs,
    });
  }

  async deletePod({ name }: ShopPod): Promise<void> {
    const request = { verb: "delete", method: "DELETE", path: `${core}/pods/${name}` } as const;
    await this.#client.request({ ...request, deadlineMs: requestDeadlineMs });
  }

  /** Asks until it holds; says what did not when that takes too long. */
  async until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
    const { clock, timers } = this.environment;
    const beganAt = clock.monotonicMs();
    while (!(await holds())) {
      if (clock.monotonicMs() - beganAt > longestWaitMs) {
        throw new Error(`waited in vain until ${what}`);
      }
      await timers.sleep(pollMs);
    }
  }

  async #create(path: string, body: object): Promise<void> {
    const request = { verb: "create", method: "POST", path, body } as const;
    await this.#client.request({ ...request, deadlineMs: requestDeadlineMs });
  }

  async #createShops(): Promise<void> {
    for (const [index, shop] of this.shops.entries()) {
      const annotations = this.#options.annotations?.(shop, index) ?? {};
      await this.#create(deployments, deployment(shop, this.#options, annotations));
      const ports = [{ port: 80, targetPort: "http" }];
      await this.#create(`${core}/services`, {
        metadata: { name: shop },
        spec: { selector: { app: shop }, ports },
      });
    }
    const rules = this.shops.map((shop) => ({
      host: hostOf(shop),
      http: { paths: pathsTo(shop) },
    }));
    await this.#create(ingresses, {
      metadata: { name: "shops" },
      spec: { ingressClassName: ingressClass, rules },
    });
  }
}

function quietEnvironment(): Environment {
  return nodeEnvironment({ log: { write: () => undefined } });
}

function clusterOf({ clusters: [cluster] }: Lab): Cluster<ReachableServer> {
  if (cluster === undefined) throw new Error("the lab has no cluster");
  return cluster;
}

export function isOfThisProcess(server: ReachableServer): server is ClusterServer {
  return "apiServer" in server;
}

export function hostOf(shop: string): string {
  return `${shop}.example`;
}

function deployment(
  name: string,
  { replicas, graceSeconds }: ShopsOptions,
  annotations: object,
): object {
  const labels = { app: name };
  const container = { name: "shop", image: "shop", ports: [{ name: "http", containerPort: 8080 }] };
  return {
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, annotations: { release: firstRelease, ...annotations } },
        spec: {
          containers: [container],
          ...(graceSeconds !== undefined && { terminationGracePeriodSeconds: graceSeconds }),
        },
      },
    },
  };
}

function pathsTo(shop: string): readonly object[] {
  const backend = { service: { name: shop, port: { number: 80 } } };
  return [{ path: "/", pathType: "Prefix", backend }];
}

function shopPod(pod: RawRecord): ShopPod {
  const { name, uid, labels, annotations, deletionTimestamp } = recordAt(pod, "metadata");
  const status = recordAt(pod, "status");
  return {
    shop: isRecord(labels) ? String(labels["app"]) : "",
    name: String(name),
    uid: String(uid),
    address: optionalString(status, "podIP") ?? "",
    node: optionalString(recordAt(pod, "spec"), "nodeName") ?? "",
    release: isRecord(annotations) ? String(annotations["release"]) : "",
    isReady: listAt(status, "conditions")
      .filter(isRecord)
      .some((one) => one["type"] === "Ready" && one["status"] === "True"),
    isLeaving: deletionTimestamp !== undefined,
  };
}
