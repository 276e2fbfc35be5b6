// One Endpoints controller of some version before an API server in virtual time, and a count of its
// requests. There is no other writer, so every change is its own.
import { Registry } from "prom-client";
import { listAt, textAt } from "../../src/apiserver/kinds/fields.ts";
import { Klog } from "../../src/components/klog.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { HttpKubeClient } from "../../src/kube/client/http-client.ts";
import { RateLimitedClient } from "../../src/kube/client/rate-limited-client.ts";
import { TokenBucket } from "../../src/kube/client/token-bucket.ts";
import { fixedAccess } from "../../src/kube/credentials/credentials.ts";
import { runEndpointsController } from "../../src/lab/controllers/endpoints/endpoints-controller.ts";
import { type ControllerFlags, controllerFlags } from "../../src/lab/controllers/flags.ts";
import { Informers } from "../../src/lab/controllers/informers.ts";
import { servedKinds } from "../../src/lab/served-kinds.ts";
import { type ProfileName, profileNamed } from "../../src/lab/versions/profiles.ts";
import { type ApiWorld, inApiWorld } from "../apiserver/api-world.ts";

export interface EndpointsWorld extends ApiWorld {
  readonly klog: Klog;
  /** Of the run that goes on. */
  readonly registry: () => Registry;
  /** `{ "PUT endpoints": 3 }`: the controller's requests since this was last asked. */
  readonly requests: () => Readonly<Record<string, number>>;
  /** How many Endpoints have another version than when this was last asked. */
  readonly changed: () => Promise<number>;
  readonly create: (resource: string, body: object) => Promise<void>;
  /** Until the next resync of all services has been worked off. */
  readonly untilResynced: () => Promise<void>;
  /** Ends the controller and starts it again, as another version if given. */
  readonly restart: (profile?: ProfileName) => Promise<void>;
}

export interface EndpointsWorldOptions {
  readonly profile: ProfileName;
  readonly flags?: Partial<ControllerFlags>;
  readonly seed?: number;
}

export const namespacePath = "/api/v1/namespaces/default";

const server = "https://server:6443";
const resyncMs = 3_600_000;
/** Until one change has been worked off. */
const settledMs = 5000;
/** Until a storm of a few keys is over. */
const settleMs = 20_000;

export async function inEndpointsWorld(
  { profile, flags = {}, seed = 1 }: EndpointsWorldOptions,
  run: (world: EndpointsWorld) => Promise<void>,
): Promise<void> {
  await inApiWorld(
    async (world) => {
      const { simulation, call } = world;
      const klog = new Klog({ clock: simulation.host("master").clock });
      const counts = new Map<string, number>();
      let started = startController(world, { profile, flags, klog, counts });
      let resyncAt = simulation.now() + resyncMs;
      let versions = new Map<string, string>();
      await run({
        ...world,
        klog,
        registry: () => started.registry,
        requests: () => taken(counts),
        changed: async () => {
          const before = versions;
          versions = await versionsOf(world);
          return [...versions].filter(([name, version]) => before.get(name) !== version).length;
        },
        create: async (resource, body) => {
          const { status, text } = await call("POST", `${namespacePath}/${resource}`, body);
          if (status !== 201) throw new Error(`the server answered ${status}: ${text}`);
        },
        untilResynced: async () => {
          await simulation.sleep(resyncAt - simulation.now() + settleMs);
          resyncAt += resyncMs;
        },
        restart: async (other = profile) => {
          await started.stop();
          resyncAt = simulation.now() + resyncMs;
          started = startController(world, { profile: other, flags, klog, counts });
          await simulation.sleep(settleMs);
        },
      });
      await started.stop();
    },
    { kinds: servedKinds(profile) },
    seed,
  );
}

/** A service for which there is nothing to do, then so many headless ones and others. */
export async function fill(world: EndpointsWorld, headless: number, others: number): Promise<void> {
  await world.create("services", { metadata: { name: "a" }, spec: { ports: [{ port: 80 }] } });
  const add = (name: string, spec: object) =>
    world.create("services", {
      metadata: { name },
      spec: { selector: { app: name }, ports: [{ port: 80 }], ...spec },
    });
  for (let index = 0; index < headless; index += 1) await add(`a${index}`, { clusterIP: "None" });
  for (let index = 0; index < others; index += 1) await add(`b${index}`, {});
  await world.simulation.sleep(settledMs);
}

/** A pod of the service `b0`, ready. */
export async function addPod(world: EndpointsWorld): Promise<void> {
  await world.create("pods", {
    metadata: { name: "p", labels: { app: "b0" } },
    spec: { nodeName: "n1", containers: [{ name: "c", image: "i" }] },
  });
  const lastTransitionTime = "2026-01-01T00:00:05Z";
  const conditions = [{ type: "Ready", status: "True", lastTransitionTime }];
  const podIP = "10.0.0.1";
  await patch(world, "pods/p/status", { status: { podIP, podIPs: [{ ip: podIP }], conditions } });
}

/** A merge patch of `services/b0` or the like, and what follows from it. */
export async function patch(world: EndpointsWorld, path: string, body: object): Promise<void> {
  const options = { contentType: "application/merge-patch+json" };
  const { status, text } = await world.call("PATCH", `${namespacePath}/${path}`, body, options);
  if (status !== 200) throw new Error(`the server answered ${status}: ${text}`);
  await world.simulation.sleep(settledMs);
}

function startController(
  { simulation }: ApiWorld,
  options: {
    readonly profile: ProfileName;
    readonly flags: Partial<ControllerFlags>;
    readonly klog: Klog;
    readonly counts: Map<string, number>;
  },
) {
  const environment = simulation.host("master");
  const profile = profileNamed(options.profile);
  const flags = controllerFlags(profile, options.flags);
  const registry = new Registry();
  const cluster = fixedAccess({ name: "lab", server, token: "admin-token" });
  const plain = new HttpKubeClient({ ...environment, cluster, userAgent: "controller" });
  const limit = { qps: flags["kube-api-qps"], burst: flags["kube-api-burst"] };
  const bucket = new TokenBucket({ ...environment, ...limit });
  const client = new RateLimitedClient({
    client: counted(plain, options.counts),
    bucket,
    clock: environment.clock,
    server,
    onThrottled: () => undefined,
  });
  const informers = new Informers({ ...environment, client: plain, cluster: "lab", resyncMs });
  const stop = new AbortController();
  const { klog } = options;
  const running = runEndpointsController(
    { ...environment, client, informers, flags, profile, klog, registry },
    stop.signal,
  );
  informers.start();
  return {
    registry,
    stop: async () => {
      stop.abort(new Error("the controller is stopping"));
      await running;
      await informers.stop();
    },
  };
}

function counted(client: KubeClient, counts: Map<string, number>): KubeClient {
  return {
    request: (request) => {
      const { pathname } = new URL(request.path, server);
      const resource = pathname.replace(/^\/api\/v1\/(namespaces\/[^/]+\/)?/, "").split("/")[0];
      const key = `${request.method} ${resource}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
      return client.request(request);
    },
    stream: (request) => client.stream(request),
  };
}

function taken(counts: Map<string, number>): Readonly<Record<string, number>> {
  const now = Object.fromEntries(counts);
  counts.clear();
  return now;
}

async function versionsOf({ call }: ApiWorld): Promise<Map<string, string>> {
  const { json } = await call("GET", `${namespacePath}/endpoints`);
  const versions = new Map<string, string>();
  for (const item of listAt(json, "items")) {
    versions.set(textAt(item, "metadata", "name"), textAt(item, "metadata", "resourceVersion"));
  }
  return versions;
}
