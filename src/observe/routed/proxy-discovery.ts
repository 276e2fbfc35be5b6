// Finds the proxies that run in a cluster by the labels that their own charts and manifests set, and
// asks them through the API server (`pods/proxy`). A pod that ends is asked no more. Many proxies
// listen for administrators at 127.0.0.1 only: the status of such a proxy names the port-forward.
import type { Environment } from "../../environment/environment.ts";
import { type KubeClient, parseJson, StatusError } from "../../kube/client/client.ts";
import { isRecord, type RawRecord } from "../../kube/kinds/fields.ts";
import { problemText } from "../problem-text.ts";
import type { ProxyKind } from "./proxy-address.ts";

export interface FoundProxy {
  readonly cluster: string;
  readonly namespace: string;
  readonly pod: string;
  readonly kind: ProxyKind;
  readonly port: number;
}

export interface ProxyDiscoveryOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly cluster: string;
  readonly client: KubeClient;
  /** All when undefined. */
  readonly namespaces: readonly string[] | undefined;
  /** The proxies that run now; called when that has changed. */
  readonly onFound: (proxies: readonly FoundProxy[]) => void;
}

interface Rule {
  readonly kind: ProxyKind;
  /** Of its listener for administrators, unless the pod has a port of this name. */
  readonly port: number;
  readonly portName?: string;
  /** Of the pod; all of them. */
  readonly labels: Readonly<Record<string, string>>;
}

const nameLabel = "app.kubernetes.io/name";

/** By the labels of each project's own chart or manifests; the first that fits counts. */
const rules: readonly Rule[] = [
  {
    kind: "envoy",
    port: 19_000,
    labels: { "app.kubernetes.io/managed-by": "envoy-gateway", [nameLabel]: "envoy" },
  },
  {
    kind: "envoy",
    port: 9001,
    labels: { [nameLabel]: "contour", "app.kubernetes.io/component": "envoy" },
  },
  { kind: "envoy", port: 9001, labels: { app: "envoy" } },
  { kind: "envoy", port: 15_000, labels: { istio: "ingressgateway" } },
  // The chart had 9000 before version 34.
  { kind: "traefik", port: 8080, portName: "traefik", labels: { [nameLabel]: "traefik" } },
  { kind: "haproxy", port: 1024, labels: { [nameLabel]: "kubernetes-ingress" } },
  { kind: "haproxy", port: 1936, labels: { [nameLabel]: "haproxy-ingress" } },
  { kind: "haproxy", port: 1024, labels: { run: "haproxy-ingress" } },
  {
    kind: "ingress-nginx",
    port: 10_246,
    labels: { [nameLabel]: "ingress-nginx", "app.kubernetes.io/component": "controller" },
  },
  {
    kind: "lockstep",
    port: 10_260,
    labels: { [nameLabel]: "lockstep", "app.kubernetes.io/component": "ingress" },
  },
];

/** A selector cannot have an "or" between labels, so there is one list for each label. */
const selectors: readonly string[] = [
  `${nameLabel} in (envoy,contour,traefik,kubernetes-ingress,haproxy-ingress,ingress-nginx,lockstep)`,
  "app=envoy",
  "istio=ingressgateway",
  "run=haproxy-ingress",
];

/** New replicas are found within this time. */
const lookEveryMs = 30_000;

/** More replicas than this add load and say little more; they are the first by name. */
export const proxiesMax = 20;

/** Proxies are few; a label that thousands of pods share is another's. */
const podsMax = 200;

const deadlineMs = 10_000;

export class ProxyDiscovery {
  readonly #options: ProxyDiscoveryOptions;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #found: readonly FoundProxy[] = [];
  #leftOut = 0;
  #hasLooked = false;
  #problem: string | undefined;

  constructor(options: ProxyDiscoveryOptions) {
    this.#options = options;
  }

  /** A second call does nothing. */
  start(): void {
    this.#running ??= this.#run(this.#stopping.signal);
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("proxies are no longer looked for"));
    await this.#running;
  }

  /** Notes for people: problems, and proxies that are left out. */
  notes(): readonly string[] {
    const { cluster } = this.#options;
    if (this.#problem !== undefined) {
      return [`cannot look for proxies in ${cluster}: ${this.#problem}`];
    }
    if (!this.#hasLooked) return [];
    if (this.#found.length === 0) {
      return [`no known proxy found in ${cluster}: give --proxy with its address`];
    }
    if (this.#leftOut === 0) return [];
    return [`only ${this.#found.length} proxies of ${cluster} are read; ${this.#leftOut} are not`];
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { timers, log, cluster } = this.#options;
    while (!signal.aborted) {
      try {
        await this.#look(signal);
        this.#problem = undefined;
      } catch (error) {
        if (signal.aborted) return;
        this.#problem = problemText(error, signal);
        log.debug("cannot look for proxies", { cluster, error });
      }
      try {
        await timers.sleep(lookEveryMs, signal);
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { namespaces = [undefined], onFound } = this.#options;
    const found = new Map<string, FoundProxy>();
    for (const namespace of namespaces) {
      for (const selector of selectors) {
        for (const pod of await this.#list(namespace, selector, signal)) {
          const proxy = this.#proxyOf(pod);
          if (proxy !== undefined) found.set(nameOf(proxy), proxy);
        }
      }
    }
    const all = [...found].toSorted(([one], [other]) => (one < other ? -1 : 1));
    const read = all.slice(0, proxiesMax).map(([, proxy]) => proxy);
    this.#leftOut = all.length - read.length;
    this.#hasLooked = true;
    const isSame =
      read.length === this.#found.length &&
      read.every((one, index) => nameOf(one) === nameOf(this.#found[index] ?? one));
    this.#found = read;
    if (!isSame) onFound(read);
  }

  async #list(
    namespace: string | undefined,
    selector: string,
    signal: AbortSignal,
  ): Promise<readonly unknown[]> {
    const place = namespace === undefined ? "" : `/namespaces/${namespace}`;
    const query = `labelSelector=${encodeURIComponent(selector)}&limit=${podsMax}`;
    const path = `/api/v1${place}/pods?${query}`;
    try {
      const request = { verb: "list", method: "GET", path, deadlineMs, signal } as const;
      const list = parseJson(await this.#options.client.request(request));
      const items = isRecord(list) ? list["items"] : undefined;
      return Array.isArray(items) ? items : [];
    } catch (error) {
      if (!(error instanceof StatusError) || error.code !== 403) throw error;
      const where = namespace === undefined ? "all namespaces" : `namespace ${namespace}`;
      const hint = "or give --proxy with the address of a proxy";
      throw new Error(`missing permission: list pods in ${where}; ${hint}`, { cause: error });
    }
  }

  #proxyOf(pod: unknown): FoundProxy | undefined {
    const { metadata, spec, status } = recordOf(pod);
    const { name, namespace, labels, deletionTimestamp } = recordOf(metadata);
    const { phase } = recordOf(status);
    if (typeof name !== "string" || typeof namespace !== "string") return undefined;
    if (phase !== "Running" || typeof deletionTimestamp === "string") return undefined;
    const own = recordOf(labels);
    const rule = rules.find((one) => {
      return Object.entries(one.labels).every(([key, value]) => own[key] === value);
    });
    if (rule === undefined) return undefined;
    const { kind, portName } = rule;
    const port = portNamed(recordOf(spec), portName) ?? rule.port;
    return { cluster: this.#options.cluster, namespace, pod: name, kind, port };
  }
}

function portNamed({ containers }: RawRecord, name: string | undefined): number | undefined {
  if (name === undefined) return undefined;
  const ports = (Array.isArray(containers) ? containers : []).flatMap((one: unknown) => {
    const { ports: own } = recordOf(one);
    return Array.isArray(own) ? own.map(recordOf) : [];
  });
  const port = ports.find((one) => one["name"] === name)?.["containerPort"];
  return typeof port === "number" ? port : undefined;
}

function nameOf({ namespace, pod }: FoundProxy): string {
  return `${namespace}/${pod}`;
}

function recordOf(value: unknown): RawRecord {
  return isRecord(value) ? value : {};
}
