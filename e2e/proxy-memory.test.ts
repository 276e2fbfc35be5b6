// nginx with full shared memory: present entries stay served and up to date, and an entry without
// room blocks no other push. With little memory, so that it is soon full.
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DecidedEndpoint, PathRule, RoutingDecision } from "../src/decide/decision.ts";
import { Routing } from "../src/decide/routing/routing.ts";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import type { Ingress } from "../src/kube/kinds/ingress.ts";
import { findProxyDirectory } from "../src/outputs/nginx/nginx-prefix.ts";
import { NginxPusher } from "../src/outputs/nginx/nginx-pusher.ts";
import type { NginxSupervisorOptions } from "../src/outputs/nginx/nginx-supervisor.ts";
import { noDetails } from "../src/outputs/nginx/snapshot-format.ts";
import { StateSnapshot } from "../src/outputs/nginx/state-snapshot.ts";
import { ingress, path } from "../tests/routing/short-ingress.ts";
import { ProxyWorld, withoutNginx } from "./proxy-world.ts";

const { files } = nodeEnvironment();
let directory = "";

beforeAll(async () => {
  directory = await files.temporaryDirectory("lockstep-e2e-memory-");
  await cp(await findProxyDirectory(files), directory, { recursive: true });
  const path = join(directory, "nginx.conf");
  const text = await readFile(path, "utf8");
  const small = text.replace(/(lockstep_state|lockstep_certificates) \d+m/g, "$1 6m");
  await writeFile(path, small);
});

afterAll(() => files.remove(directory));

interface World {
  readonly world: ProxyWorld;
  readonly routed: Map<string, number>;
  readonly tell: (decision: RoutingDecision, version: number) => void;
}

function withLittleMemory(run: (world: World) => Promise<void>): Promise<void> {
  return withNginx({ proxyDirectory: directory }, run);
}

function withNginx(
  options: Partial<NginxSupervisorOptions>,
  run: (world: World) => Promise<void>,
): Promise<void> {
  return ProxyWorld.use(async (world) => {
    await world.supervisor(options).start();
    const routed = new Map<string, number>();
    const pusher = new NginxPusher({
      ...world.environment,
      socketPath: world.socketPath,
      onRouted: (name, version) => void routed.set(name, version),
    });
    pusher.start();
    const tell: World["tell"] = (decision, version) => {
      const services = new Map([...decision.services.keys()].map((key) => [key, version]));
      pusher.apply(decision, { routes: true, services });
    };
    try {
      await run({ world, routed, tell });
    } finally {
      await pusher.stop();
    }
  });
}

function endpoints(...peers: readonly string[]): readonly DecidedEndpoint[] {
  return peers.map((peer) => {
    const [address = "", port] = peer.split(":");
    return { address, port: Number(port), cluster: "east", state: "active", reason: "" };
  });
}

/** A host for each service, of the same name. */
function decisionOf(
  services: RoutingDecision["services"],
  certificates: RoutingDecision["certificates"] = new Map(),
): RoutingDecision {
  const rules = [...services.keys()].map(
    (service) => [service, [{ path: "/", type: "Prefix", service }]] as const,
  );
  return { hosts: new Map(rules), services, certificates };
}

const pem = {
  chain: `-----BEGIN CERTIFICATE-----\n${"A".repeat(10_000)}`,
  key: "-----BEGIN PRIVATE KEY-----\n",
};

describe.skipIf(withoutNginx !== false)("nginx whose memory is full", () => {
  it("gets all routes, however many certificates there are", () =>
    withLittleMemory(async ({ world, routed, tell }) => {
      const backend = await world.backend("web");
      const names = Array.from({ length: 1_000 }, (_, index) => `shop/${index}`);
      const certificates = new Map(names.map((name) => [name, pem]));
      tell(decisionOf(new Map([["web", endpoints(backend.peer)]]), certificates), 1);
      await world.until(() => routed.get("web") === 1);
      expect(await world.ask("web")).toEqual({ status: 200, body: "web" });
      const services = new Map([
        ["web", endpoints(backend.peer)],
        ["more", endpoints(backend.peer)],
      ]);
      tell(decisionOf(services, certificates), 2);
      await world.until(() => routed.get("more") === 2);
      expect((await world.ask("more")).status).toBe(200);
    }));

  it("learns that an endpoint has left, and has room again when something is removed", () =>
    withLittleMemory(async ({ world, routed, tell }) => {
      const backend = await world.backend("web");
      const many = Array.from({ length: 300 }, (_, index) => `10.0.${index}.1:80`);
      const crowd = (count: number) =>
        Array.from(
          { length: count },
          (_, index) => [`crowd-${index}`, endpoints(...many)] as const,
        );
      tell(decisionOf(new Map([["web", endpoints(backend.peer)]])), 1);
      await world.until(() => routed.get("web") === 1);
      tell(decisionOf(new Map([...crowd(400), ["web", endpoints(backend.peer)]])), 2);
      await world.until(() => routed.get("web") === 2);
      await world.environment.timers.sleep(500);
      expect(routed.has("crowd-399")).toBe(false);
      tell(decisionOf(new Map([...crowd(400), ["web", endpoints()]])), 3);
      await world.until(() => routed.get("web") === 3);
      expect((await world.ask("web")).status).toBe(503);
      tell(decisionOf(new Map([["crowd-399", endpoints(backend.peer)]])), 4);
      await world.until(() => routed.get("crowd-399") === 4);
      // The host, which was closed, may be pushed after the service.
      await world.until(async () => (await world.ask("crowd-399")).status === 200);
    }));
});

it.skipIf(withoutNginx !== false)(
  "nginx takes a service of 10,000 pods with long names whole",
  () =>
    withNginx({}, async ({ world, routed, tell }) => {
      const backend = await world.backend("web");
      const crowd = Array.from({ length: 10_000 }, (_, index): DecidedEndpoint => {
        const address = `10.${Math.floor(index / 250)}.7.${index % 250}`;
        const podName = `${"a-deployment-with-a-long-name-".repeat(4)}-${index}`;
        const cluster = "a-cluster-with-a-long-name-in-a-far-region";
        return { address, port: 80, cluster, podName, state: "draining", reason: "" };
      });
      tell(decisionOf(new Map([["web", [...endpoints(backend.peer), ...crowd]]])), 1);
      await world.until(() => routed.get("web") === 1);
      expect(await world.ask("web")).toEqual({ status: 200, body: "web" });
    }),
);

/** 34 kB of YAML: 180 paths under an allowlist of 1,000 networks, and 25 more names of the host. */
function largeIngress() {
  const networks = Array.from({ length: 1_000 }, (_, n) => `10.${n >> 8}.${n & 255}.0/24`);
  const aliases = Array.from({ length: 25 }, (_, n) => `alias-${n}.large.example`);
  const paths = Array.from({ length: 180 }, (_, n) => path(`/part-${n}`, "large"));
  return ingress("large", [{ host: "large.example", paths }], {
    namespace: "tenant-a",
    bornMs: 1,
    annotations: {
      "lockstep.dev/allowlist-source-range": [...networks, "127.0.0.0/8"].slice(1).join(","),
      "lockstep.dev/server-alias": aliases.join(","),
    },
  });
}

function smallIngress(name: string) {
  const options = { namespace: "tenant-b", bornMs: 2 };
  return ingress(name, [{ host: `${name}.example`, paths: [path("/", name)] }], options);
}

/** Three times as much as nginx has room for, of sizes that its allocator rounds up most. */
function floodOfHosts(): RoutingDecision["hosts"] {
  const rule = (path: string): PathRule => ({ path, type: "Prefix", service: "tenant-a/large:80" });
  const small = Array.from({ length: 6_000 }, (_, n): [string, readonly PathRule[]] => [
    `small-${n}.flood.example`,
    [rule(`/${"x".repeat(2_000)}`)],
  ]);
  const large = Array.from({ length: 3_000 }, (_, n): [string, readonly PathRule[]] => [
    `large-${n}.flood.example`,
    Array.from({ length: 4 }, (_one, p) => rule(`/${p}-${"y".repeat(4_000)}`)),
  ]);
  return new Map([...small, ...large]);
}

/** Drives one nginx by pushers that start from nothing, like a restarted controller. */
class Tenants {
  readonly services = new Map<string, readonly DecidedEndpoint[]>();
  readonly tenants: Ingress[] = [];
  readonly #world: ProxyWorld;
  readonly #flood: RoutingDecision["hosts"];
  #version = 0;

  constructor(world: ProxyWorld, flood: RoutingDecision["hosts"] = new Map()) {
    this.#world = world;
    this.#flood = flood;
  }

  async withPusher(
    run: (tell: () => Promise<void>, pusher: NginxPusher) => Promise<void>,
  ): Promise<void> {
    const { environment, socketPath, prefix } = this.#world;
    const routed = new Map<string, number>();
    const pusher = new NginxPusher({
      ...environment,
      socketPath,
      onRouted: (name, at) => void routed.set(name, at),
    });
    const snapshot = new StateSnapshot({
      ...environment,
      prefix,
      source: {
        entries: () => pusher.state.present(),
        details: () => () => noDetails,
        known: () => new Map(),
      },
    });
    pusher.start();
    try {
      await run(async () => {
        this.#version += 1;
        const versions = new Map([...this.services.keys()].map((key) => [key, this.#version]));
        pusher.apply(this.#decided(), { routes: true, services: versions });
        await this.#world.until(() => routed.get("tenant-b/first:80") === this.#version);
        await this.#world.until(() => pusher.pushed === pusher.applied);
        snapshot.changed();
      }, pusher);
    } finally {
      await pusher.stop();
      await snapshot.stop();
    }
  }

  #decided(): RoutingDecision {
    const routing = new Routing({ className: "lockstep" });
    const table = routing.decide({ ingresses: this.tenants, classes: [] });
    const flooding = [...this.#flood.keys()].map(
      (host, n) => [host, { namespace: "tenant-a", createdAtMs: n }] as const,
    );
    return {
      ...table,
      hosts: new Map([...this.#flood, ...table.hosts]),
      owners: new Map([...flooding, ...table.owners]),
      services: this.services,
    };
  }
}

it.skipIf(withoutNginx !== false).each([
  ["the largest Ingress of one tenant keeps", (): RoutingDecision["hosts"] => new Map()],
  ["far more hosts than there is room for keep", floodOfHosts],
])("%s no host and no endpoint of another tenant from being served", (_, flood) =>
  ProxyWorld.use(async (world) => {
    const supervisor = world.supervisor();
    await supervisor.start();
    const [old, next] = [await world.backend("old"), await world.backend("next")];
    const tenants = new Tenants(world, flood());
    tenants.tenants.push(largeIngress(), smallIngress("first"));
    tenants.services.set("tenant-a/large:80", endpoints(old.peer));
    tenants.services.set("tenant-b/first:80", endpoints(old.peer));
    await tenants.withPusher(async (tell, pusher) => {
      await tell();
      expect(await world.ask("first.example")).toEqual({ status: 200, body: "old" });
      tenants.tenants.push(smallIngress("second"));
      tenants.services.set("tenant-b/second:80", endpoints(old.peer));
      await tell();
      expect(await world.ask("second.example")).toEqual({ status: 200, body: "old" });
      const isFlooded = pusher.state.leftOut().length > 0;
      expect(isFlooded).toBe(flood === floodOfHosts);
      expect((await world.ask("large-2999.flood.example")).status).toBe(isFlooded ? 503 : 404);
    });
    // A restarted controller loads everything while nginx still has all of it.
    tenants.services.set("tenant-b/first:80", endpoints(next.peer));
    await tenants.withPusher(async (tell) => {
      await tell();
      expect(await world.ask("first.example")).toEqual({ status: 200, body: "next" });
    });
    await supervisor.stopNginx(0);
    await world.supervisor().start();
    expect(await world.ask("first.example")).toEqual({ status: 200, body: "next" });
    expect(await world.ask("second.example")).toEqual({ status: 200, body: "old" });
    // The largest of the tenant that floods is its own loss.
    const large = await world.ask("alias-3.large.example", "/part-7");
    expect(large.status).toBe(flood === floodOfHosts ? 503 : 200);
  }),
);
