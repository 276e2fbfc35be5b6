// The stock ingress on a real nginx, from the API to the answer: it serves by the generated
// configuration, takes an endpoint change without a reload, and leaves nothing behind. Skipped where
// nginx is missing; setup has said so.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { accessLogEntries } from "../src/access-log/access-log-entries.ts";
import { AccessLogParser } from "../src/access-log/access-log-parser.ts";
import { followFile } from "../src/access-log/file-chunks.ts";
import { ApiServer } from "../src/apiserver/api-server.ts";
import { MemoryStorage } from "../src/apiserver/storage/memory-storage.ts";
import type { Listener } from "../src/environment/network.ts";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { HttpKubeClient } from "../src/kube/client/http-client.ts";
import { fixedAccess } from "../src/kube/credentials/credentials.ts";
import { LivePlane } from "../src/lab/stock/live/live-plane.ts";
import type { StockBackend } from "../src/lab/stock/stock-configuration.ts";
import { StockController } from "../src/lab/stock/stock-controller.ts";
import { Entry } from "../src/lab/traffic/entry.ts";
import { readProxyAddress } from "../src/observe/routed/proxy-address.ts";
import { proxySource } from "../src/observe/routed/proxy-sources.ts";
import { RoutedWitness } from "../src/observe/routed-witness.ts";
import type { Observation } from "../src/timeline/observation.ts";
import { isRunning } from "./is-running.ts";

const nginx = "/usr/sbin/nginx";
const environment = nodeEnvironment();
const folder = mkdtempSync(join(tmpdir(), "lockstep-e2e-stock-"));
const prefix = join(folder, "replica-1");

/** The processes of a test, the last first: a failing test must leave nothing behind either. */
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
  rmSync(folder, { recursive: true, force: true });
});

it.skipIf(!existsSync(nginx))("serves, follows the endpoints, and ends whole", async () => {
  const client = await startCluster();
  const first = await startPod("127.40.0.1", "uid-1");
  const second = await startPod("127.40.0.2", "uid-2", first.port);
  const post = (path: string, body: object) =>
    client.request({ verb: "create", method: "POST", path, body });
  await post("/api/v1/namespaces/default/services", service(first.port));
  await post(slices, slice(["127.40.0.1"], first.port));
  await post("/apis/networking.k8s.io/v1/namespaces/default/ingresses", ingress);

  const routed: string[][] = [];
  const onRouted = (backends: readonly StockBackend[]): void => {
    routed.push(backends.flatMap(({ endpoints }) => endpoints.map(({ address }) => address)));
  };
  const plane = new LivePlane({
    ...environment,
    prefix,
    host: "127.0.0.1",
    port: 0,
    accessLog: true,
    onRouted,
  });
  const controller = new StockController({
    ...environment,
    client,
    cluster: "c1",
    published: "endpointslices",
    plane,
  });
  stops.push(() => controller.stop());
  await controller.start();
  const entry = await startEntry(plane.address);
  const observations = startReader(plane.statusAddress);

  await until(() => routed.length === 1);
  expect(routed).toEqual([["127.40.0.1"]]);
  expect(await get(entry.url, "shop.example", "/cart")).toEqual([
    200,
    "uid-1",
    `127.40.0.1:${first.port}`,
  ]);
  expect(await get(entry.url, "a.wild.example", "/exact")).toEqual([
    200,
    "uid-1",
    `127.40.0.1:${first.port}`,
  ]);
  expect(await get(entry.url, "a.wild.example", "/exact/more")).toEqual([
    404,
    undefined,
    undefined,
  ]);
  expect(await get(entry.url, "other.example", "/")).toEqual([404, undefined, undefined]);

  await until(() => observations.length === 1);
  const path = `${slices}/web`;
  const changedAt = environment.clock.monotonicMs();
  await client.request({
    verb: "update",
    method: "PUT",
    path,
    body: slice(["127.40.0.2"], first.port),
  });
  await until(() => routed.length === 2);
  expect(await get(entry.url, "shop.example", "/cart")).toEqual([
    200,
    "uid-2",
    `127.40.0.2:${first.port}`,
  ]);
  await second.close();
  const peer = `127.40.0.2:${first.port}`;
  expect(await get(entry.url, "shop.example", "/cart")).toEqual([
    502,
    undefined,
    `${peer}, ${peer}, ${peer}`,
  ]);
  expect(controller.counts).toMatchObject({ reloads: 1, pushes: 2, failedSyncs: 0 });

  await until(() => observations.length === 3);
  expect(observations.map(({ direction, endpoint }) => `${direction} ${endpoint.address}`)).toEqual(
    ["join 127.40.0.1", "leave 127.40.0.1", "join 127.40.0.2"],
  );
  expect(observations[0]?.endpoint).toMatchObject({ service: "default/web", port: first.port });
  expect(observations[1]?.at).toBeGreaterThan(changedAt);
  expect(observations[1]?.notBefore).toBeLessThan(observations[1]?.at ?? 0);

  const logged = [
    "200 shop.example /cart 127.40.0.1=200",
    "200 a.wild.example /exact 127.40.0.1=200",
    "404 a.wild.example /exact/more ",
    "404 other.example / ",
    "200 shop.example /cart 127.40.0.2=200",
    "502 shop.example /cart 127.40.0.2=502!,127.40.0.2=502!,127.40.0.2=502!",
  ];
  expect(await logOf(plane.accessLogPath, logged.length)).toEqual(logged.toSorted());
  expect(await logOf(plane.plainAccessLogPath, logged.length)).toEqual(
    logged.map((line) => line.replace(/ \S+\.example/, " undefined")).toSorted(),
  );

  const master = plane.pid ?? 0;
  const workers = childrenOf(master);
  expect(workers.length).toBe(2);
  await controller.stop();
  expect([master, ...workers].filter(isRunning)).toEqual([]);
  expect(existsSync(prefix)).toBe(false);
  await expect(get(`http://${plane.address}`, "shop.example", "/")).rejects.toThrow();
});

it.skipIf(!existsSync(nginx))("says why nginx cannot start, and leaves no folder", async () => {
  const taken = await environment.network.listen({ host: "127.0.0.1", port: 0 }, (exchange) =>
    exchange.abort(),
  );
  stops.push(() => taken.close());
  const plane = new LivePlane({ ...environment, prefix, host: "127.0.0.1", port: taken.port });
  stops.push(() => plane.stop());
  await expect(plane.start()).rejects.toThrow(/nginx has ended: code 1 .*Address already in use/);
  await plane.stop();
  expect(existsSync(prefix)).toBe(false);
});

it.skipIf(!existsSync(nginx))("ends by itself when its owner was killed", async () => {
  const script = `
    import { nodeEnvironment } from "./dist/src/environment/node/node-environment.js";
    import { LivePlane } from "./dist/src/lab/stock/live/live-plane.js";
    const plane = new LivePlane({
      ...nodeEnvironment(), prefix: process.argv[1], host: "127.0.0.1", port: 0,
    });
    await plane.start();
    console.log(plane.pid);
    setInterval(() => undefined, 1000);`;
  const owner = spawn(process.execPath, ["--input-type=module", "-e", script, prefix], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  stops.push(async () => void owner.kill("SIGKILL"));
  const [line] = await owner.stdout.take(1).toArray();
  const master = Number(String(line));
  // The first of them may answer before the second has begun.
  await until(() => childrenOf(master).length === 2);
  const workers = childrenOf(master);
  owner.kill("SIGKILL");
  await until(() => ![master, ...workers].some(isRunning));
  expect(existsSync(`${prefix}/nginx.pid`)).toBe(false);
});

const noop = (): void => undefined;

const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

function service(targetPort: number): object {
  return {
    metadata: { name: "web" },
    spec: { clusterIP: "None", ports: [{ port: 80, targetPort }] },
  };
}

function slice(addresses: readonly string[], port: number): object {
  return {
    metadata: { name: "web", labels: { "kubernetes.io/service-name": "web" } },
    addressType: "IPv4",
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
    ports: [{ name: "", port, protocol: "TCP" }],
  };
}

const backend = { service: { name: "web", port: { number: 80 } } };

const ingress = {
  metadata: { name: "shop" },
  spec: {
    rules: [
      { host: "shop.example", http: { paths: [{ path: "/", pathType: "Prefix", backend }] } },
      { host: "*.wild.example", http: { paths: [{ path: "/exact", pathType: "Exact", backend }] } },
    ],
  },
};

async function startCluster(): Promise<HttpKubeClient> {
  const server = new ApiServer({
    ...environment,
    storage: new MemoryStorage(environment),
    name: "c1",
    gitVersion: "v1.33.0",
    authentication: { tokens: new Map([["token", { name: "e2e", groups: ["system:masters"] }]]) },
  });
  stops.push(() => server.stop());
  const { host, port } = await server.start({ host: "127.0.0.1", port: 0 });
  const cluster = fixedAccess({ name: "c1", server: `http://${host}:${port}`, token: "token" });
  return new HttpKubeClient({ ...environment, cluster, userAgent: "e2e" });
}

async function startPod(host: string, uid: string, port = 0): Promise<Listener> {
  const listener = await environment.network.listen({ host, port }, (exchange) => {
    exchange.respond(200).end(Buffer.from(JSON.stringify({ uid, address: host })));
  });
  stops.push(() => listener.close());
  return listener;
}

async function startEntry(address: string): Promise<Entry> {
  const replicas = [{ name: "stock-1", address }];
  const entry = new Entry({ ...environment, host: "127.0.0.1", port: 0, replicas });
  await entry.start();
  stops.push(() => entry.stop());
  return entry;
}

/** The observations of a reader that detects ingress-nginx by itself. */
function startReader(address: string): readonly Observation[] {
  const observations: Observation[] = [];
  const sink = {
    report: (one: Observation) => observations.push(one),
    follow: noop,
    unfollow: noop,
  };
  const witness = new RoutedWitness({ replica: "stock-1", sink });
  const source = proxySource({
    ...environment,
    address: readProxyAddress(address),
    witness,
    clusters: [],
  });
  stops.push(() => source.stop());
  source.start();
  return observations;
}

/**
 * The first lines of the log, once there are so many: the tries, marked if there was no answer.
 * Each worker writes when it has answered, so their lines are sorted by text.
 */
async function logOf(path: string, lines: number): Promise<readonly string[]> {
  const stop = new AbortController();
  const chunks = followFile({ ...environment, path, from: "start", signal: stop.signal });
  const read: string[] = [];
  for await (const one of accessLogEntries(chunks, new AccessLogParser())) {
    const tries = one.tries.map(
      ({ address, status, answered }) => `${address}=${status}${answered === false ? "!" : ""}`,
    );
    read.push(`${one.status} ${one.host} ${one.target} ${tries.join(",")}`);
    if (read.length === lines) stop.abort();
  }
  return read.toSorted();
}

/** Status, the uid of the pod that answered, and the peers that were tried. */
async function get(
  url: string,
  host: string,
  path: string,
): Promise<readonly [number, string | undefined, string | undefined]> {
  const request = { method: "GET", url: `${url}${path}`, headers: { host } };
  const response = await environment.network.request(request);
  let body = "";
  for await (const chunk of response.body) body += Buffer.from(chunk).toString("utf8");
  const uid = /"uid":"([^"]+)"/.exec(body)?.[1];
  return [response.status, uid, response.headers["x-upstream"]];
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await environment.timers.sleep(20);
}

function childrenOf(pid: number): readonly number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((other) => Number.isInteger(other) && parentOf(other) === pid);
}

function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    // Ended in the meantime.
    return undefined;
  }
}
