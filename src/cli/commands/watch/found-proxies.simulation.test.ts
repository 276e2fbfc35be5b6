import { expect, test } from "vitest";
import { lockstepWatch, startShop } from "../../../../tests/cli/watch-command.ts";
import { inObserverWorld, type ObserverWorld } from "../../../../tests/observer/observer-world.ts";
import { textAt } from "../../../apiserver/kinds/fields.ts";

interface Traefik {
  readonly name: string;
  readonly address: string;
  addresses: readonly string[];
  serviceAddress?: string;
  asked: number;
}

/** A pod with the labels of Traefik's chart, and its API. */
async function startTraefik(world: ObserverWorld, traefik: Traefik): Promise<void> {
  const { name, address } = traefik;
  const { network } = world.simulation.host(address);
  await network.listen({ host: address, port: 9000 }, (exchange) => {
    traefik.asked += 1;
    const isKnown = exchange.request.target.startsWith("/api/http/services");
    const servers = traefik.addresses.map((one) => ({ url: `http://${one}:8080` }));
    const own = { servers: [{ url: `http://${traefik.serviceAddress}:80` }] };
    const body = [
      { name: "shop-web-80@kubernetes", loadBalancer: { servers } },
      // As with the annotation nativelb.
      { name: "shop-api-80@kubernetes", loadBalancer: own },
    ];
    exchange.respond(isKnown ? 200 : 404).end(Buffer.from(JSON.stringify(body)));
  });
  const labels = { "app.kubernetes.io/name": "traefik" };
  const ports = [{ name: "traefik", containerPort: 9000 }];
  await startPod(world, { name, labels, address, ports });
}

async function startPod(
  world: ObserverWorld,
  {
    name,
    labels,
    address,
    ports = [],
  }: Readonly<Record<"name" | "address", string>> & {
    readonly labels: Readonly<Record<string, string>>;
    readonly ports?: readonly object[];
  },
): Promise<void> {
  const pods = "/api/v1/namespaces/other/pods";
  await world.call("lab-1", "POST", pods, {
    metadata: { name, labels },
    spec: { containers: [{ name: "proxy", image: "proxy", ports }] },
  });
  await world.call("lab-1", "PATCH", `${pods}/${name}/status`, {
    status: { phase: "Running", podIP: address, podIPs: [{ ip: address }] },
  });
}

test("finds the proxies of a cluster, asks them through the API server, and lets those go that end", () =>
  inObserverWorld(async (world) => {
    await startShop(world, "lab-1");
    await world.addService("lab-1", "api");
    const api = await world.call("lab-1", "GET", "/api/v1/namespaces/shop/services/api");
    const serviceAddress = textAt(api, "spec", "clusterIP");
    expect(serviceAddress).toMatch(/^10\./);
    const addresses = ["10.0.0.1"];
    const traefik = { name: "traefik-1", address: "10.9.0.1", addresses, serviceAddress, asked: 0 };
    await startTraefik(world, traefik);
    await startPod(world, { name: "envoy-1", address: "10.9.0.2", labels: { app: "envoy" } });
    const closed = { asked: 0 };
    const { network } = world.simulation.host("10.9.0.2");
    await network.listen({ host: "10.9.0.2", port: 9001 }, (exchange) => {
      closed.asked += 1;
      exchange.respond(404).end();
    });
    let askedAtEnd = 0;
    const { out, errors } = await lockstepWatch(world, {
      args: ["--proxy", "auto"],
      meanwhile: async () => {
        const { timers } = world.simulation.host("admin");
        await timers.sleep(8_000);
        await world.addPod("lab-1", "web-2", "10.0.0.2");
        await world.publish("lab-1", "web", ["10.0.0.1", "10.0.0.2"]);
        await timers.sleep(5_000);
        traefik.addresses = ["10.0.0.1", "10.0.0.2"];
        await timers.sleep(5_000);
        await world.removePod("lab-1", "traefik-1", "other");
        await timers.sleep(40_000);
        askedAtEnd = traefik.asked;
        await timers.sleep(10_000);
      },
    });
    expect(out).toMatch(
      /ready \+10\.0\.0\.2 shop\/web {2}pod 0 · published .* · routed ≤[56](\.\d+)? s/,
    );
    expect(out.trim().split("\n")).toHaveLength(1);
    expect([askedAtEnd > 10, traefik.asked - askedAtEnd]).toEqual([true, 0]);
    // For 5 s once a second, and then at 30 s intervals.
    expect(closed.asked).toBeLessThanOrEqual(9);
    expect(closed.asked).toBeGreaterThan(5);
    const text = errors.replaceAll(/\s+/g, " ");
    expect(text).toContain(
      "proxy other/envoy-1 does not report its endpoints, so its routed times are unknown: GET " +
        "/api/v1/namespaces/other/pods/envoy-1:9001/proxy/clusters?format=json: ",
    );
    expect(text).toContain("use kubectl port-forward POD PORT");
    expect(text).toContain(
      "proxy other/traefik-1 does not report its endpoints, so its routed times are unknown: pod " +
        "traefik-1 is gone ",
    );
  }));

test("says when there is no proxy, and which permission is missing", () =>
  inObserverWorld(async (world) => {
    await world.startCluster("lab-1", { hasRules: true });
    await world.allow("lab-1", ["services", "pods", "endpointslices", "nodes"]);
    const { timers } = world.simulation.host("admin");
    const watched = await lockstepWatch(world, {
      args: ["--context", "lab-1-again", "--proxy", "auto"],
      meanwhile: async () => {
        await timers.sleep(8_000);
        const traefik = { name: "traefik-1", address: "10.9.0.1", addresses: [], asked: 0 };
        await startTraefik(world, traefik);
        await timers.sleep(60_000);
        expect(traefik.asked).toBe(0);
      },
    });
    const text = watched.errors.replaceAll(/\s+/g, " ");
    expect(text).toContain("no known proxy found in lab-1-again: give --proxy with its address");
    expect(text).toContain(
      "missing permission: get pods/proxy in namespace other (kubectl -n other create role " +
        "lockstep-proxies --verb=get --resource=pods/proxy, and bind it)",
    );
    // Once, and once more in the summary.
    expect(text.split("missing permission: get pods/proxy")).toHaveLength(3);
  }));
