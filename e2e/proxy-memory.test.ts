// What nginx does when its shared memory is full: what it has stays served and up to date, and what
// finds no room keeps nothing else from being told. With little memory, so that it is soon full.
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DecidedEndpoint, RoutingDecision } from "../src/decide/decision.ts";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { findProxyDirectory } from "../src/outputs/nginx/nginx-prefix.ts";
import { NginxPusher } from "../src/outputs/nginx/nginx-pusher.ts";
import type { NginxSupervisorOptions } from "../src/outputs/nginx/nginx-supervisor.ts";
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
  it("is told all routes, however many certificates there are", () =>
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
      expect((await world.ask("crowd-399")).status).toBe(200);
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
