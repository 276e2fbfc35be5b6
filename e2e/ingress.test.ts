// A replica of the ingress on real sockets: an embedded API server, real nginx, and pods that are
// HTTP servers on loopback. There are no slices, so all routes come from the pods.
import { describe, expect, it } from "vitest";
import { accessLogEntries } from "../src/access-log/access-log-entries.ts";
import type { AccessLogEntry } from "../src/access-log/access-log-entry.ts";
import { AccessLogParser } from "../src/access-log/access-log-parser.ts";
import { followFile } from "../src/access-log/file-chunks.ts";
import { ApiServer } from "../src/apiserver/api-server.ts";
import { MemoryStorage } from "../src/apiserver/storage/memory-storage.ts";
import type { Environment } from "../src/environment/environment.ts";
import { IngressReplica } from "../src/ingress/ingress-replica.ts";
import type { RoutedEntry } from "../src/ingress/routed-journal.ts";
import { HttpKubeClient } from "../src/kube/client/http-client.ts";
import { fixedAccess } from "../src/kube/credentials/credentials.ts";
import { readProxyAddress } from "../src/observe/routed/proxy-address.ts";
import { proxySource } from "../src/observe/routed/proxy-sources.ts";
import { RoutedWitness } from "../src/observe/routed-witness.ts";
import type { Observation } from "../src/timeline/observation.ts";
import { type Backend, ProxyWorld, withoutNginx } from "./proxy-world.ts";

const core = "/api/v1/namespaces/default";
const requestsEach = 40;

describe.skipIf(withoutNginx !== false)("a replica of the ingress", () => {
  it("serves by an Ingress, follows each pod at once, and leaves nothing behind", () =>
    ProxyWorld.use(async (world) => {
      await withReplica(world, async ({ replica, admin, routed }) => {
        expect(await whoAnswers(world)).toEqual(new Set(["web-1", "web-2"]));
        expect(replica.notReadyBecause).toBeUndefined();
        await admin.deletePod("web-1");
        await routed.left(1);
        expect(await whoAnswers(world)).toEqual(new Set(["web-2"]));
        await admin.readyPod("web-3", (await world.backend("web-3")).peer);
        await routed.joined(3);
        expect(await whoAnswers(world)).toEqual(new Set(["web-2", "web-3"]));
        const state = await ask(world, replica, "/state");
        expect(Object.keys(JSON.parse(state).services)).toEqual(["default/web:80"]);
        expect(await ask(world, replica, "/readyz")).toBe("ok\n");
      });
      expect((await world.ask("web.example")).status).toBe(0);
    }));

  it("reads the clusters and decides while nginx is started", () =>
    ProxyWorld.use(async (world) => {
      const { processes, timers } = world.environment;
      let replica: IngressReplica | undefined;
      const run: typeof processes.run = async (...command) => {
        while (replica?.loop.isReady !== true) await timers.sleep(20);
        return await processes.run(...command);
      };
      const environment = { ...world.environment, processes: { ...processes, run } };
      const onMade = (made: IngressReplica) => {
        replica = made;
      };
      const serves = async () =>
        expect(await whoAnswers(world)).toEqual(new Set(["web-1", "web-2"]));
      await withReplica(world, serves, { environment, onMade });
    }));

  it("tells an observer when each change was routed, and what became of the requests", () =>
    ProxyWorld.use((world) =>
      withReplica(world, async ({ replica, admin, backends: [first, second] }) => {
        const { environment, prefix } = world;
        const observations: Observation[] = [];
        const sink = {
          report: (one: Observation) => observations.push(one),
          follow: noop,
          unfollow: noop,
        };
        const source = proxySource({
          ...environment,
          address: readProxyAddress(`127.0.0.1:${replica.statusAddress?.port}`),
          witness: new RoutedWitness({ replica: "r1", sink }),
          clusters: ["lab"],
        });
        source.start();
        while (observations.length < 2) await environment.timers.sleep(20);
        await admin.deletePod("web-1");
        while (observations.length < 3) await environment.timers.sleep(20);
        await source.stop();
        const [one, other] = [first, second].map(({ peer }) => peer);
        expect(observations.map((report) => inWords(report))).toEqual([
          `join default/web ${one} all along`,
          `join default/web ${other} all along`,
          `leave default/web ${one}`,
        ]);
        const entry = replica.journal.after(0).at(-1);
        expect(entry?.left).toMatchObject([{ podUid: observations[2]?.endpoint.podUid }]);
        // The replica's clock is ours here, and the reported time is never earlier than the true
        // one.
        expect(observations[2]?.at).toBeGreaterThanOrEqual(entry?.routedAtMs ?? Infinity);
        await world.ask("web.example");
        const path = `${prefix}/logs/access.log`;
        const stop = new AbortController();
        const chunks = followFile({ ...environment, path, from: "start", signal: stop.signal });
        const logged: AccessLogEntry[] = [];
        for await (const request of accessLogEntries(chunks, new AccessLogParser())) {
          logged.push(request);
          stop.abort();
        }
        const [address, port] = other?.split(":") ?? [];
        expect(logged).toMatchObject([
          {
            status: 200,
            resolutionMs: 1,
            host: "web.example",
            service: "default/web",
            tries: [{ address, port: Number(port), status: 200, answered: true }],
          },
        ]);
      }),
    ));

  it("suspects a pod that refuses requests and a probe, until it takes connections again", () =>
    ProxyWorld.use((world) =>
      withReplica(world, async ({ replica, routed, backends: [first] }) => {
        const [host = "", port] = first.peer.split(":");
        await first.close();
        expect(await whoAnswers(world)).toEqual(new Set(["web-2"]));
        await routed.left(1);
        const { services } = JSON.parse(await ask(world, replica, "/state"));
        expect(services["default/web:80"].endpoints[0]).toMatchObject({
          podName: "web-1",
          state: "suspect",
          pod: "ready",
          reason:
            "its pod is ready, but its EndpointSlice does not list it as ready yet, " +
            "but requests to it fail, and it does not answer probes",
        });
        const again = await world.environment.network.listen(
          { host, port: Number(port) },
          (exchange) => exchange.respond(200).end(Buffer.from("web-1")),
        );
        await routed.joined(3);
        await again.close();
      }),
    ));
});

const noop = (): void => undefined;

function inWords({ direction, endpoint, baseline }: Observation): string {
  const { service, address, port } = endpoint;
  return `${direction} ${service} ${address}:${port}${baseline === true ? " all along" : ""}`;
}

interface Serving {
  readonly replica: IngressReplica;
  readonly admin: Administrator;
  readonly routed: Routed;
  readonly backends: readonly [Backend, Backend];
}

/** Runs with two pods that are served by a replica, and ends both it and the cluster. */
async function withReplica(
  world: ProxyWorld,
  run: (serving: Serving) => Promise<void>,
  {
    environment = world.environment,
    onMade = noop,
  }: {
    readonly environment?: Environment;
    readonly onMade?: (replica: IngressReplica) => void;
  } = {},
): Promise<void> {
  const server = new ApiServer({
    ...environment,
    storage: new MemoryStorage(environment),
    name: "lab",
    gitVersion: "v1.33.1",
    authentication: { tokens: new Map([["token", { name: "admin", groups: [] }]]) },
  });
  const { port } = await server.start({ host: "127.0.0.1", port: 0 });
  const address = `http://127.0.0.1:${port}`;
  const cluster = fixedAccess({ name: "lab", server: address, token: "token" });
  const admin = new Administrator(
    new HttpKubeClient({ ...environment, cluster, userAgent: "admin" }),
  );
  await admin.serviceAndIngress();
  const backends = [await world.backend("web-1"), await world.backend("web-2")] as const;
  for (const [index, { peer }] of backends.entries())
    await admin.readyPod(`web-${index + 1}`, peer);
  const routed = new Routed();
  const replica = new IngressReplica({
    environment,
    clusters: [cluster],
    access: cluster,
    className: "lockstep",
    policy: { followSlices: false },
    listen: [{ address: "127.0.0.1", port: world.port }],
    prefix: world.prefix,
    workers: 2,
    status: { host: "127.0.0.1", port: 0 },
    onRouted: (entry) => routed.note(entry),
  });
  onMade(replica);
  try {
    await replica.start();
    await routed.joined(2);
    await run({ replica, admin, routed, backends });
  } finally {
    await replica.stop({ keepNginx: false });
    await server.stop();
  }
}

async function whoAnswers(world: ProxyWorld): Promise<ReadonlySet<string>> {
  const answers = new Set<string>();
  for (let count = 0; count < requestsEach; count += 1) {
    const { status, body } = await world.ask("web.example");
    answers.add(status === 200 ? body : `status ${status}`);
  }
  return answers;
}

async function ask({ environment }: ProxyWorld, replica: IngressReplica, path: string) {
  const port = replica.statusAddress?.port ?? 0;
  const url = `http://127.0.0.1:${port}${path}`;
  const { body } = await environment.network.request({ method: "GET", url });
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

/** Waits for the proxy's word instead of for time to pass. */
class Routed {
  #joined = 0;
  #left = 0;
  readonly #waiters = new Set<() => void>();

  note({ joined, left }: RoutedEntry): void {
    this.#joined += joined.length;
    this.#left += left.length;
    for (const waiter of this.#waiters) waiter();
  }

  joined(count: number): Promise<void> {
    return this.#until(() => this.#joined >= count);
  }

  left(count: number): Promise<void> {
    return this.#until(() => this.#left >= count);
  }

  #until(isSo: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!isSo()) return;
        this.#waiters.delete(look);
        resolve();
      };
      this.#waiters.add(look);
      look();
    });
  }
}

class Administrator {
  readonly #client: HttpKubeClient;

  constructor(client: HttpKubeClient) {
    this.#client = client;
  }

  async serviceAndIngress(): Promise<void> {
    const ports = [{ port: 80, targetPort: "http" }];
    await this.#create(`${core}/services`, {
      metadata: { name: "web" },
      spec: { selector: { app: "web" }, ports },
    });
    const backend = { service: { name: "web", port: { number: 80 } } };
    const paths = [{ path: "/", pathType: "Prefix", backend }];
    await this.#create("/apis/networking.k8s.io/v1/namespaces/default/ingresses", {
      metadata: { name: "web" },
      spec: { ingressClassName: "lockstep", rules: [{ host: "web.example", http: { paths } }] },
    });
  }

  async readyPod(name: string, peer: string): Promise<void> {
    const [podIP = "", port = ""] = peer.split(":");
    const ports = [{ name: "http", containerPort: Number(port) }];
    await this.#create(`${core}/pods`, {
      metadata: { name, labels: { app: "web" } },
      spec: { nodeName: "n1", containers: [{ name: "web", image: "web:1", ports }] },
    });
    const conditions = [{ type: "Ready", status: "True" }];
    await this.#client.request({
      verb: "patch",
      method: "PATCH",
      path: `${core}/pods/${name}/status`,
      contentType: "application/merge-patch+json",
      body: { status: { phase: "Running", podIP, podIPs: [{ ip: podIP }], conditions } },
    });
  }

  async deletePod(name: string): Promise<void> {
    await this.#client.request({
      verb: "delete",
      method: "DELETE",
      path: `${core}/pods/${name}`,
    });
  }

  async #create(path: string, body: object): Promise<void> {
    await this.#client.request({ verb: "create", method: "POST", path, body });
  }
}
