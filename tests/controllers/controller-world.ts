// Only for tests: a cluster in virtual time with the controllers, the scheduler, and nodes whose
// pods become ready and end without any process. It stands for kubelets in the least space.
import { Registry } from "prom-client";
import { isJsonObject, listAt, objectsAt, textAt } from "../../src/apiserver/kinds/fields.ts";
import type { KubeObject } from "../../src/apiserver/kube-object.ts";
import { Klog } from "../../src/components/klog.ts";
import type { Environment } from "../../src/environment/environment.ts";
import { HttpKubeClient } from "../../src/kube/client/http-client.ts";
import { fixedAccess } from "../../src/kube/credentials/credentials.ts";
import type { ControllerFlags } from "../../src/lab/controllers/flags.ts";
import { ComponentLogs } from "../../src/lab/controllers/klog/component-logs.ts";
import {
  controllerManager,
  runControllerManager,
} from "../../src/lab/controllers/kube-controllers.ts";
import { runScheduler } from "../../src/lab/scheduler/scheduler.ts";
import type { ProfileName } from "../../src/lab/versions/profiles.ts";
import { type ApiWorld, inApiWorld } from "../apiserver/api-world.ts";

export interface ControllerWorld extends ApiWorld {
  readonly klog: Klog;
  readonly metrics: Registry;
  /** The number of writes that the server has answered, of all clients. */
  readonly writes: () => Promise<number>;
  readonly list: (path: string) => Promise<readonly KubeObject[]>;
  readonly get: (path: string) => Promise<KubeObject>;
  /** Creates and fails the test unless the server agrees. */
  readonly create: (path: string, object: object) => Promise<KubeObject>;
  /** One round of the nodes: pods with a node become ready, terminating ones end. */
  readonly turnNodes: () => Promise<void>;
  /** Rounds, with this long between them. */
  readonly live: (ms: number) => Promise<void>;
  readonly restart: (flags: Partial<ControllerFlags>) => Promise<void>;
}

export interface ControllerWorldOptions {
  readonly profile?: ProfileName;
  readonly flags?: Partial<ControllerFlags>;
  readonly seed?: number;
  readonly nodes?: number;
}

export const services = "/api/v1/namespaces/default/services";
export const deployments = "/apis/apps/v1/namespaces/default/deployments";
export const replicaSets = "/apis/apps/v1/namespaces/default/replicasets";
export const endpoints = "/api/v1/namespaces/default/endpoints";
export const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

const roundMs = 1000;

/** The nodes say once that they are ready, and are believed for as long as any test takes. */
const neverLost = { "node-monitor-grace-period": 24 * 3_600_000 };

/** No pod but the component's own runs there. */
const masterTaint = { key: "node-role.kubernetes.io/control-plane", effect: "NoSchedule" };

const server = "https://server:6443";

export async function inControllerWorld(
  run: (world: ControllerWorld) => Promise<void>,
  { profile = "1.33", flags = {}, seed = 1, nodes = 2 }: ControllerWorldOptions = {},
): Promise<void> {
  const logs: { current?: ComponentLogs } = {};
  const podLogs = {
    write: async (...args: Parameters<ComponentLogs["write"]>) => logs.current?.write(...args),
  };
  await inApiWorld(
    async (world) => {
      const master = world.simulation.host("master");
      const klog = new Klog({ clock: master.clock });
      logs.current = new ComponentLogs({ clock: master.clock });
      logs.current.set({ namespace: "kube-system", name: `${controllerManager}-master` }, klog);
      const metrics = new Registry();
      const start = (changed: Partial<ControllerFlags>) =>
        startControllers({
          environment: master,
          klog,
          metrics,
          profile,
          flags: { ...neverLost, ...changed },
        });
      await addNode(world, "master", { taints: [masterTaint] });
      for (let number = 1; number <= nodes; number += 1) await addNode(world, `node-${number}`);
      let stop = start(flags);
      const restart = async (changed: Partial<ControllerFlags>) => {
        await stop();
        metrics.clear();
        stop = start(changed);
      };
      await run({ ...world, ...callsOf(world), klog, metrics, restart });
      await stop();
    },
    { podLogs },
    seed,
  );
}

function startControllers(options: {
  readonly environment: Environment;
  readonly klog: Klog;
  readonly metrics: Registry;
  readonly profile: ProfileName;
  readonly flags: Partial<ControllerFlags>;
}): () => Promise<void> {
  const { environment } = options;
  const cluster = fixedAccess({ name: "lab", server, token: "admin-token" });
  const clientFor = (userAgent: string) =>
    new HttpKubeClient({ ...environment, cluster, userAgent });
  const stop = new AbortController();
  const running = [
    runControllerManager(
      {
        ...options,
        flags: { "leader-elect": false, ...options.flags },
        cluster: "lab",
        server,
        clientFor,
        listen: { host: "master", port: 10_257 },
        nodeName: "master",
      },
      stop.signal,
    ),
    runScheduler(
      { ...environment, client: clientFor("kube-scheduler"), cluster: "lab" },
      stop.signal,
    ),
  ];
  return async () => {
    stop.abort(new Error("the test is over"));
    await Promise.all(running);
  };
}

function callsOf(world: ApiWorld) {
  const { call, simulation } = world;
  const get = async (path: string): Promise<KubeObject> => objectOf(await call("GET", path));
  const create = async (path: string, object: object): Promise<KubeObject> =>
    objectOf(await call("POST", path, object));
  const list = async (path: string): Promise<readonly KubeObject[]> =>
    listAt((await call("GET", path)).json, "items").filter(isKubeObject);
  const turnNodes = async (): Promise<void> => {
    for (const pod of await list("/api/v1/pods")) {
      if (textAt(pod, "spec", "nodeName") !== "") await turnPod(world, pod);
    }
  };
  const live = async (ms: number): Promise<void> => {
    const end = simulation.now() + ms;
    while (simulation.now() < end) {
      await turnNodes();
      await simulation.sleep(Math.min(roundMs, end - simulation.now()));
    }
  };
  const writes = async (): Promise<number> => {
    const { text } = await call("GET", "/metrics");
    const lines = text.matchAll(/^apiserver_request_total\{([^}]*)\} (\d+)$/gm);
    let sum = 0;
    for (const [, labels = "", count] of lines) {
      if (/verb="(POST|PUT|PATCH|DELETE)"/.test(labels)) sum += Number(count);
    }
    return sum;
  };
  return { get, create, list, turnNodes, live, writes };
}

/** The least a kubelet does: an address and readiness for a pod, and its end when it is to go. */
async function turnPod({ call, simulation }: ApiWorld, pod: KubeObject): Promise<void> {
  const { namespace = "", name, deletionTimestamp, uid = "" } = pod.metadata;
  if (textAt(pod, "metadata", "annotations", "kubernetes.io/config.mirror") !== "") return;
  const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
  if (deletionTimestamp !== undefined) {
    await call("DELETE", path, { gracePeriodSeconds: 0, preconditions: { uid } });
    return;
  }
  const isReady = objectsAt(pod, "status", "conditions").some(({ type }) => type === "Ready");
  if (isReady) return;
  const now = new Date(simulation.host("server").clock.wallMs()).toISOString();
  await call("PUT", `${path}/status`, {
    ...pod,
    status: {
      phase: "Running",
      podIP: addressOf(uid),
      conditions: [{ type: "Ready", status: "True", lastTransitionTime: `${now.slice(0, 19)}Z` }],
    },
  });
}

/** An address that no other pod has, made from the uid. */
function addressOf(uid: string): string {
  const bytes = [0, 2, 4].map((at) => Number.parseInt(uid.slice(at, at + 2), 16));
  return `10.${bytes.join(".")}`;
}

async function addNode({ call }: ApiWorld, name: string, spec: object = {}): Promise<void> {
  const node = await call("POST", "/api/v1/nodes", { metadata: { name }, spec });
  await call("PUT", `/api/v1/nodes/${name}/status`, {
    ...objectOf(node),
    status: { conditions: [{ type: "Ready", status: "True" }] },
  });
}

function objectOf(reply: { readonly status: number; readonly json: unknown }): KubeObject {
  if (reply.status >= 300 || !isKubeObject(reply.json)) {
    throw new Error(`the server answered ${reply.status}: ${JSON.stringify(reply.json)}`);
  }
  return reply.json;
}

function isKubeObject(value: unknown): value is KubeObject {
  return isJsonObject(value) && isJsonObject(value["metadata"]);
}

/** A Deployment and a Service of the same name. */
export function deployment(name: string, replicas: number, spec: object = {}): object {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: "web", image: "web:1", ports: [{ containerPort: 8080 }] }] },
      },
      ...spec,
    },
  };
}

export function service(name: string, spec: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, labels: { app: name } },
    spec: { selector: { app: name }, ports: [{ port: 80, targetPort: 8080 }], ...spec },
  };
}
