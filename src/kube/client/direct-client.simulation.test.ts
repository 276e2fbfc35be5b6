import { expect, it } from "vitest";
import { ApiServer } from "../../apiserver/api-server.ts";
import { MemoryStorage } from "../../apiserver/storage/memory-storage.ts";
import { type Simulation, simulate } from "../../simulation/simulation.ts";
import { type ClusterAccess, fixedAccess } from "../credentials/credentials.ts";
import { endpointsKind } from "../kinds/endpoints.ts";
import { Reflector } from "../reflector/reflector.ts";
import { silentAfterMs } from "../reflector/reflector-guard.ts";
import { parseJson } from "./client.ts";
import { DirectKubeClient, serverAddresses } from "./direct-client.ts";
import { HttpKubeClient } from "./http-client.ts";
import { restMs } from "./server-list.ts";

const token = "secret";

interface World {
  readonly simulation: Simulation;
  readonly servers: readonly ApiServer[];
  readonly clientAt: (access: Partial<ClusterAccess>) => DirectKubeClient;
  /** Lists these servers for `kubernetes`. */
  readonly list: (...addresses: readonly string[]) => Promise<void>;
  /** By server, the status with which it refuses a path, if it does; 0 breaks the connection. */
  readonly refusals: ((target: string) => number | undefined)[];
  /** How many requests of ours each server has had. */
  readonly requests: () => readonly number[];
}

/** Servers 10.0.0.1 to 3 on one storage; the first is also known as `server-1`, the given one. */
function withServers(act: (world: World) => Promise<void>): Promise<void> {
  return simulate({ seed: 1 }, async (simulation) => {
    const storage = new MemoryStorage({ clock: simulation.host("etcd").clock });
    const admin = { name: "admin", groups: ["system:masters"] };
    const seen = [0, 0, 0];
    const refusals: World["refusals"] = [];
    const servers: ApiServer[] = [];
    for (const index of seen.keys()) {
      const machine = `server-${index + 1}`;
      const environment = simulation.host(machine);
      const server = new ApiServer({
        ...environment,
        storage,
        name: machine,
        gitVersion: "v1.33.0",
        authentication: { tokens: new Map([[token, admin]]) },
      });
      await server.start({ host: machine, port: 6443 });
      await environment.network.listen({ host: `10.0.0.${index + 1}`, port: 443 }, (exchange) => {
        const isOurs = exchange.request.headers["user-agent"] === "ours";
        const isQuestion = ["/readyz", "/healthz"].includes(exchange.request.target);
        if (isOurs && !isQuestion) seen[index] = (seen[index] ?? 0) + 1;
        const refusal = refusals[index]?.(exchange.request.target);
        if (refusal === 0) return exchange.abort();
        if (refusal !== undefined) return exchange.respond(refusal).end();
        return server.handle(exchange);
      });
      servers.push(server);
    }
    const user = simulation.host("user");
    const given = fixedAccess({ name: "blue", server: "https://server-1:6443", token });
    const admins = new HttpKubeClient({ ...user, cluster: given, userAgent: "user" });
    await act({
      simulation,
      servers,
      refusals,
      clientAt: (access) =>
        new DirectKubeClient({
          ...simulation.host("client"),
          cluster: { ...given, ...access },
          userAgent: "ours",
        }),
      list: async (...addresses) => {
        const path = "/api/v1/namespaces/default/endpoints/kubernetes";
        const metadata = { name: "kubernetes", namespace: "default" };
        const subsets = [
          { addresses: addresses.map((ip) => ({ ip })), ports: [{ name: "https", port: 443 }] },
        ];
        const body = { apiVersion: "v1", kind: "Endpoints", metadata, subsets };
        await admins.request({ verb: "update", method: "PUT", path, body });
      },
      requests: () => [...seen],
    });
  });
}

const read = { verb: "list", method: "GET", path: "/api/v1/namespaces" } as const;

it("reads of the list the addresses of the API, of both families", () => {
  const addresses = [{ ip: "10.0.0.1" }, { ip: "fd00::1" }];
  const ports = [
    { name: "https", port: 6443 },
    { name: "konnectivity", port: 8132 },
  ];
  const unnamed = { addresses: [{ ip: "10.0.0.2" }], ports: [{ name: "", port: 443 }] };
  expect(serverAddresses([{ addresses, ports }, unnamed])).toEqual([
    "10.0.0.1:6443",
    "[fd00::1]:6443",
    "10.0.0.2:443",
  ]);
});

it("talks to a listed server from its first request on", () =>
  withServers(async ({ clientAt, list, requests }) => {
    await list("10.0.0.2");
    const client = clientAt({});
    await client.request(read);
    expect(parseJson(await client.request(read))).toMatchObject({ kind: "NamespaceList" });
    expect(requests()).toEqual([0, 2, 0]);
  }));

it("stays with the given address when no listed server answers", () =>
  withServers(async ({ simulation, clientAt, list, requests }) => {
    await list("10.9.9.9");
    const client = clientAt({});
    await client.request(read);
    // Unreachable rather than unknown: the packets go nowhere.
    simulation.network.partition("client", "server-3");
    client.learnServers(["10.0.0.3:443"]);
    const before = simulation.now();
    await client.request(read);
    expect(simulation.now() - before).toBeLessThan(100);
    expect(requests()).toEqual([0, 0, 0]);
  }));

it("goes straight only where credentials are safe: no gateway, no unverified server", () =>
  withServers(async ({ clientAt, list, requests }) => {
    await list("10.0.0.2");
    const unverified = { authorization: `Bearer ${token}`, tls: { insecureSkipVerify: true } };
    await clientAt({ credentials: () => Promise.resolve(unverified) }).request(read);
    await clientAt({ server: "http://server-1:6443" }).request(read);
    const gateway = clientAt({ server: "https://server-1:6443/k8s/clusters/c-1" });
    await expect(gateway.request(read)).rejects.toMatchObject({ code: 404 });
    gateway.learnServers(["10.0.0.2:443"]);
    await expect(gateway.request(read)).rejects.toMatchObject({ code: 404 });
    expect(requests()).toEqual([0, 0, 0]);
  }));

it("words an address that is none, and an abort, as any client does", () =>
  withServers(async ({ clientAt }) => {
    const failed = { name: "NetworkError", code: "FAILED" };
    await expect(clientAt({ server: "server-1:6443" }).request(read)).rejects.toMatchObject(failed);
    const stopped = clientAt({}).request({ ...read, signal: AbortSignal.abort() });
    await expect(stopped).rejects.toMatchObject({ name: "NetworkError", code: "ABORTED" });
  }));

it("asks a server of before 1.16 in the way it knows", () =>
  withServers(async ({ clientAt, list, refusals, requests }) => {
    await list("10.0.0.2");
    refusals[1] = (target) => (target === "/readyz" ? 404 : undefined);
    await clientAt({}).request(read);
    expect(requests()).toEqual([0, 1, 0]);
  }));

it("leaves a server that refuses requests and is not ready, as a balancer would", () =>
  withServers(async ({ simulation, clientAt, list, refusals, requests }) => {
    await list("10.0.0.2");
    const client = clientAt({});
    await client.request(read);
    refusals[1] = (target) => (target === "/readyz" ? undefined : 500);
    await expect(client.request(read)).rejects.toMatchObject({ code: 500 });
    await simulation.sleep(1_000);
    await expect(client.request(read)).rejects.toMatchObject({ code: 500 });
    refusals[1] = () => 500;
    await expect(client.request(read)).rejects.toMatchObject({ code: 500 });
    await simulation.sleep(1_000);
    await client.request(read);
    expect(requests()).toEqual([0, 4, 0]);
  }));

it("stays with a server that broke one connection", () =>
  withServers(async ({ clientAt, list, refusals, requests }) => {
    await list("10.0.0.2");
    const client = clientAt({});
    await client.request(read);
    refusals[1] = () => 0;
    await expect(client.request(read)).rejects.toMatchObject({ code: "RESET" });
    refusals[1] = () => undefined;
    await client.request(read);
    expect(requests()).toEqual([0, 3, 0]);
  }));

it("returns to a server that is back, although no list has named it again", () =>
  withServers(async ({ simulation, clientAt, list, requests }) => {
    await list("10.0.0.2");
    const client = clientAt({});
    await client.request(read);
    simulation.network.partition("client", "server-2");
    const before = simulation.now();
    await expect(client.request(read)).rejects.toMatchObject({ code: "DEAD_PEER" });
    expect(simulation.now() - before).toBeLessThanOrEqual(2_100);
    await client.request(read);
    simulation.network.heal("client", "server-2");
    await simulation.sleep(restMs);
    await client.request(read);
    await simulation.sleep(1_000);
    await client.request(read);
    expect(requests()).toEqual([0, 2, 0]);
  }));

it("turns to another server when its own is gone, and to the given address after the last", () =>
  withServers(async ({ simulation, clientAt, list, requests }) => {
    await list("10.0.0.2");
    const client = clientAt({});
    await client.request(read);
    client.learnServers(["10.0.0.3:443"]);
    await simulation.sleep(1_000);
    simulation.crash("server-2");
    await expect(client.request(read)).rejects.toMatchObject({ code: "REFUSED" });
    await client.request(read);
    expect(requests()).toEqual([0, 1, 1]);
    simulation.crash("server-3");
    await expect(client.request(read)).rejects.toMatchObject({ code: "REFUSED" });
    await client.request(read);
    expect(requests()).toEqual([0, 1, 1]);
  }));

it("moves its watches to another server when the cache of its own stops", () =>
  withServers(async ({ simulation, servers, clientAt, list }) => {
    await list("10.0.0.2");
    const client = clientAt({});
    await client.request(read);
    client.learnServers(["10.0.0.2:443", "10.0.0.3:443"]);
    const reflector = new Reflector({
      ...simulation.host("client"),
      client,
      cluster: "blue",
      kind: endpointsKind,
      indexes: {},
      handlers: [],
    });
    reflector.start();
    await reflector.waitForSync();
    const lagging = servers[1];
    if (lagging === undefined) throw new Error("there are three servers");
    lagging.faults.cache.cacheLagMs = Number.POSITIVE_INFINITY;
    await list("10.0.0.1");
    await simulation.sleep(2 * silentAfterMs);
    expect(reflector.freshness().server).toBe("10.0.0.3:443");
    await list("10.0.0.2");
    await simulation.sleep(1_000);
    const kubernetes = reflector.store.get("default", "kubernetes");
    expect(kubernetes?.subsets.map(({ addresses }) => addresses[0]?.ip)).toEqual(["10.0.0.2"]);
    await reflector.stop();
  }));
