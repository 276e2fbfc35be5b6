import { expect, it } from "vitest";
import { ApiServer } from "../../apiserver/api-server.ts";
import { MemoryStorage } from "../../apiserver/storage/memory-storage.ts";
import { NetworkError } from "../../environment/network.ts";
import { HttpKubeClient } from "../../kube/client/http-client.ts";
import { fixedAccess } from "../../kube/credentials/credentials.ts";
import { type Simulation, simulate } from "../../simulation/simulation.ts";
import { type ProxyMode, ServicePath } from "./service-path.ts";

const token = "secret";
const silenceMs = 60_000;

interface World {
  readonly simulation: Simulation;
  readonly path: ServicePath;
  /** Lists these servers and no others. */
  readonly list: (...addresses: readonly string[]) => Promise<void>;
  /** Opens a watch through the path and gathers what it sends. */
  readonly watch: () => { readonly lines: string[]; readonly end: Promise<unknown> };
  readonly touch: () => Promise<void>;
}

/** Two servers on one storage, 10.0.0.1 and 10.0.0.2, and a client that knows the path alone. */
function withPath(mode: ProxyMode, act: (world: World) => Promise<void>): Promise<void> {
  return simulate({ seed: 1 }, async (simulation) => {
    const storage = new MemoryStorage({ clock: simulation.host("etcd").clock });
    const admin = { name: "admin", groups: ["system:masters"] };
    for (const number of [1, 2]) {
      const environment = simulation.host(`server-${number}`);
      const authentication = { tokens: new Map([[token, admin]]) };
      const server = new ApiServer({
        ...environment,
        storage,
        name: `server-${number}`,
        gitVersion: "v1.9.11",
        authentication,
      });
      await server.start({ host: `10.0.0.${number}`, port: 6443 });
    }
    const user = simulation.host("user");
    const access = fixedAccess({ name: "blue", server: "http://10.0.0.1:6443", token });
    const client = new HttpKubeClient({ ...user, cluster: access, userAgent: "user" });
    const list = async (...addresses: readonly string[]): Promise<void> => {
      await client.request({
        verb: "update",
        method: "PUT",
        path: "/api/v1/namespaces/default/endpoints/kubernetes",
        body: {
          apiVersion: "v1",
          kind: "Endpoints",
          metadata: { name: "kubernetes", namespace: "default" },
          subsets: [
            { addresses: addresses.map((ip) => ({ ip })), ports: [{ name: "https", port: 6443 }] },
          ],
        },
      });
      await simulation.sleep(100);
    };
    await list("10.0.0.1");
    const pod = simulation.host("pod");
    const path = new ServicePath({
      ...pod,
      client,
      cluster: "blue",
      mode,
      silence: { minMs: silenceMs, maxMs: silenceMs },
      host: "pod",
      port: 8443,
    });
    await path.start();
    const through = fixedAccess({ name: "blue", server: path.url, token });
    const podClient = new HttpKubeClient({ ...pod, cluster: through, userAgent: "pod" });
    let namespaces = 0;
    await act({
      simulation,
      path,
      list,
      watch: () => watchNamespaces(podClient),
      touch: async () => {
        namespaces += 1;
        await client.request({
          verb: "create",
          method: "POST",
          path: "/api/v1/namespaces",
          body: { apiVersion: "v1", kind: "Namespace", metadata: { name: `n-${namespaces}` } },
        });
        await simulation.sleep(100);
      },
    });
    await path.stop();
    await path.stop();
  });
}

function watchNamespaces(client: HttpKubeClient) {
  const lines: string[] = [];
  const follow = async (): Promise<unknown> => {
    const path = "/api/v1/namespaces?watch=1&fieldSelector=metadata.name!=default";
    try {
      const { body } = await client.stream({ verb: "watch", method: "GET", path });
      for await (const chunk of body) {
        const names = Buffer.from(chunk)
          .toString()
          .matchAll(/"name":"(n-\d+)"/g);
        for (const [, name = ""] of names) lines.push(name);
      }
      return "closed";
    } catch (error) {
      return error;
    }
  };
  return { lines, end: follow() };
}

it("leaves open watches at their server in iptables mode", () =>
  withPath("iptables", async ({ simulation, path, list, watch, touch }) => {
    const { lines } = watch();
    await simulation.sleep(1_000);
    await list("10.0.0.2");
    await touch();
    await simulation.sleep(2 * silenceMs);
    await touch();
    expect(lines).toEqual(["n-1", "n-2"]);
    expect(path.cutOff).toBe(0);
  }));

it("lets open watches fall silent in IPVS mode, and breaks them when the kernel gives up", () =>
  withPath("ipvs", async ({ simulation, path, list, watch, touch }) => {
    const { lines, end } = watch();
    await simulation.sleep(1_000);
    await touch();
    await list("10.0.0.2");
    const cutMs = simulation.now();
    await touch();
    // Its server is listed again, and that changes nothing for it.
    await list("10.0.0.1");
    await touch();
    expect(lines).toEqual(["n-1"]);
    const error = await end;
    expect(error).toBeInstanceOf(NetworkError);
    expect(error).toMatchObject({ code: "RESET" });
    expect(simulation.now() - cutMs).toBeGreaterThan(silenceMs - 200);
    expect(simulation.now() - cutMs).toBeLessThan(silenceMs + 200);
    expect(path.cutOff).toBe(1);
  }));

it("sends new connections to the listed server, also from a client that is cut off", () =>
  withPath("ipvs", async ({ simulation, list, watch, touch }) => {
    watch();
    await simulation.sleep(1_000);
    await list("10.0.0.2");
    const { lines } = watch();
    await simulation.sleep(1_000);
    await touch();
    expect(lines).toEqual(["n-1"]);
  }));

it("breaks a connection to a listed server that is gone", () =>
  withPath("iptables", async ({ simulation, list, watch }) => {
    simulation.crash("server-2");
    await list("10.0.0.2");
    await expect(watch().end).resolves.toMatchObject({ code: "RESET" });
  }));
