import { expect, it } from "vitest";
import { type RoutedWorld, withProxy } from "../../../tests/observer/routed-world.ts";
import type { Listener } from "../../environment/network.ts";
import { simulate } from "../../simulation/simulation.ts";
import { Timeline } from "../../timeline/timeline.ts";
import { RoutedWitness } from "../routed-witness.ts";
import { readProxyAddress } from "./proxy-address.ts";
import { proxySource } from "./proxy-sources.ts";

/** Backends by name, as ingress-nginx's controller hands them over. */
type Handed = Readonly<Record<string, readonly string[]>>;

interface Nginx {
  /** Undefined before anything was handed over. */
  backends: Handed | undefined;
  status: number;
  asked: number;
}

async function startNginx({ proxy }: Pick<RoutedWorld, "proxy">, nginx: Nginx): Promise<Listener> {
  return await proxy.network.listen({ host: "proxy", port: 10246 }, (exchange) => {
    nginx.asked += 1;
    const { method, target } = exchange.request;
    const isKnown = method === "GET" && target === "/configuration/backends";
    const body = exchange.respond(isKnown ? nginx.status : 404);
    body.end(Buffer.from(nginx.backends === undefined ? "nil" : json(nginx.backends)));
  });
}

function json(backends: Handed): string {
  return JSON.stringify(
    Object.entries(backends).map(([name, addresses]) => ({
      name,
      service: { metadata: {}, spec: { type: "ClusterIP", clusterIP: ownAddress } },
      port: 80,
      sslPassthrough: false,
      ...(addresses.length > 0 && {
        endpoints: addresses.map((place) => {
          const [address, port = "8080"] = place.split(" ");
          return { address, port };
        }),
      }),
      noServer: false,
    })),
  );
}

/** Records the reported services, also when nothing in them is new. */
class CountingWitness extends RoutedWitness {
  #reported: string[] = [];

  takeReported(): readonly string[] {
    return this.#reported.splice(0);
  }

  override began(...reported: Parameters<RoutedWitness["began"]>): void {
    this.#reported.push(...reported[0].keys());
    super.began(...reported);
  }

  override routed(...reported: Parameters<RoutedWitness["routed"]>): void {
    this.#reported.push(reported[0]);
    super.routed(...reported);
  }
}

const onEvent = () => undefined;

/** Of every service of these tests. */
const ownAddress = "10.96.0.9";

const address = "ingress-nginx=http://proxy:10246";

function newNginx(backends?: Handed): Nginx {
  return { backends, status: 200, asked: 0 };
}

it("tells what it routes to as a state, and each change as an interval that has the truth in it", () =>
  withProxy(async (world) => {
    const nginx = newNginx({ "shop-web-80": ["10.0.0.1", "10.0.0.2"] });
    await startNginx(world, nginx);
    world.begin(address);
    await world.sleep(2_500);
    expect(world.said()).toEqual([
      "follows shop/web",
      "join shop/web 10.0.0.1:8080 all along",
      "join shop/web 10.0.0.2:8080 all along",
    ]);
    nginx.backends = { "shop-web-80": ["10.0.0.2", "fd00::1"] };
    await world.sleep(3_000);
    const [left, joined, ...rest] = world.said();
    expect(rest).toEqual([]);
    // Handed over at 2,500; the workers take it up within a second of that.
    expect(left).toMatch(/^leave shop\/web 10\.0\.0\.1:8080 at 2\d\d\d\.\.4\d\d\d$/);
    expect(joined).toMatch(/^join shop\/web fd00::1:8080 at 2\d\d\d\.\.4\d\d\d$/);
    nginx.backends = { "shop-api-80": ["10.0.0.3"], "shop-api-http-web": ["10.0.0.4"] };
    await world.sleep(3_000);
    expect(world.said().map((one) => one.replace(/ at .*/, ""))).toEqual([
      "follows shop/api",
      "join shop/api 10.0.0.3:8080",
      "leave shop/web 10.0.0.2:8080",
      "leave shop/web fd00::1:8080",
      "unknown shop/web",
    ]);
  }));

it("does not wait for it where pods listen behind the one of two backends that it gives up", () =>
  withProxy(async (world) => {
    const web = { "shop-web-80": ["10.0.0.1"] };
    const nginx = newNginx({ ...web, "shop-web-443": ["10.0.0.1 8443", "10.0.0.1"] });
    await startNginx(world, nginx);
    world.begin(address);
    await world.sleep(2_500);
    nginx.backends = { ...web, "shop-web-443": [] };
    await world.sleep(3_000);
    world.said();
    nginx.backends = web;
    await world.sleep(3_000);
    expect(world.said()).toEqual(["unknown shop/web at 8443"]);
  }));

it("knows nothing while the proxy is silent, and then what has changed since", () =>
  withProxy(async (world) => {
    const nginx = newNginx({ "shop-web-80": ["10.0.0.1"] });
    const listener = await startNginx(world, nginx);
    const source = world.begin(address);
    await world.sleep(2_500);
    world.said();
    await listener.close();
    await world.sleep(3_000);
    expect(world.said()).toEqual([]);
    expect(source.status).toMatchObject({
      state: "connected",
      problem: expect.stringMatching(/./),
    });
    await world.sleep(5_000);
    expect(world.said()).toEqual(["unknown shop/web"]);
    expect(source.status.state).toBe("lost");
    nginx.backends = { "shop-web-80": ["10.0.0.2"] };
    await startNginx(world, nginx);
    await world.sleep(3_000);
    const [follows, left, joined, ...rest] = world.said();
    expect([follows, rest]).toEqual(["follows shop/web", []]);
    expect(left).toMatch(/^leave shop\/web 10\.0\.0\.1:8080 at 2\d\d\d\.\.1\d\d\d\d$/);
    expect(joined).toMatch(/^join shop\/web 10\.0\.0\.2:8080 at 2\d\d\d\.\.1\d\d\d\d$/);
    expect(source.status).toMatchObject({ state: "connected", problem: undefined });
  }));

it("is found out by asking, also when it comes late", () =>
  withProxy(async (world) => {
    const source = world.begin("http://proxy:10246");
    await world.sleep(7_000);
    expect([source.status.state, world.said()]).toEqual(["lost", []]);
    await startNginx(world, newNginx());
    await world.sleep(3_000);
    expect([source.status.state, world.said()]).toEqual(["connected", []]);
  }));

it("reports a service only when its endpoints have changed, or its name has become known", () =>
  withProxy(async (world) => {
    const witness = new CountingWitness({ replica: "proxy", sink: new Timeline({ onEvent }) });
    const known = new Set(["shop/web"]);
    const shop = { "shop-web-80": ["10.0.0.1"], "shop-api-80": ["10.0.0.2"] };
    const nginx = newNginx({ ...shop, "upstream-default-backend": ["127.0.0.1"] });
    await startNginx(world, nginx);
    world.begin(address, { witness, isService: (service) => known.has(service) });
    await world.sleep(9_500);
    expect(witness.takeReported()).toEqual(["shop/web"]);
    known.add("shop/api");
    await world.sleep(3_000);
    expect(witness.takeReported()).toEqual(["shop/api"]);
    nginx.backends = { ...shop, "shop-web-80": ["10.0.0.3"] };
    await world.sleep(5_000);
    expect(witness.takeReported()).toEqual(["shop/web"]);
  }));

it("takes no service for another, and a service that becomes known for a state", () =>
  withProxy(async (world) => {
    const known = new Set(["a/b-c"]);
    const nginx = newNginx({
      "a-b-c-80": ["10.0.0.1"],
      "shop-web-80": ["10.0.0.2"],
      "upstream-default-backend": ["127.0.0.1"],
    });
    await startNginx(world, nginx);
    const source = world.begin(address, { isService: (service) => known.has(service) });
    await world.sleep(2_500);
    expect(world.said()).toEqual(["follows a/b-c", "join a/b-c 10.0.0.1:8080 all along"]);
    known.add("shop/web");
    await world.sleep(2_000);
    expect(world.said()).toEqual(["follows shop/web", "join shop/web 10.0.0.2:8080 all along"]);
    // Services that are not known for a while are no change of what is routed.
    known.clear();
    await world.sleep(2_000);
    expect([world.said(), source.status.ambiguous]).toEqual([[], []]);
  }));

it("counts a name that could be of several services for none, and says so", () =>
  withProxy(async (world) => {
    await startNginx(world, newNginx({ "a-b-c-80": ["10.0.0.1"], "shop-web-80": ["10.0.0.2"] }));
    const source = world.begin(address);
    await world.sleep(2_500);
    expect(world.said()).toEqual(["follows shop/web", "join shop/web 10.0.0.2:8080 all along"]);
    expect(source.status.ambiguous).toEqual(["a-b-c-80"]);
  }));

it("does not wait for a service of which it knows only the service's own address", () =>
  withProxy(async (world) => {
    // As with the annotation service-upstream: pods come and go, and the proxy routes on to this.
    await startNginx(world, newNginx({ "shop-web-80": [ownAddress], "shop-api-80": ["10.0.0.1"] }));
    world.begin(address);
    await world.sleep(2_500);
    expect(world.said()).toEqual(["follows shop/api", "join shop/api 10.0.0.1:8080 all along"]);
  }));

it("says when the answer is not ingress-nginx's", () =>
  withProxy(async (world) => {
    const nginx = newNginx({});
    await startNginx(world, nginx);
    const source = world.begin(address);
    await world.sleep(500);
    nginx.status = 500;
    await world.sleep(1_000);
    expect(source.status.problem).toBe(
      "GET http://proxy:10246/configuration/backends returned status 500; it listens at " +
        "127.0.0.1:10246 in its pod: use kubectl port-forward POD 10246",
    );
  }));

it("asks once a second, and no more once it was stopped", () =>
  withProxy(async (world) => {
    const nginx = newNginx({ "shop-web-80": ["10.0.0.1"] });
    await startNginx(world, nginx);
    const source = world.begin(address);
    await world.sleep(9_900);
    expect(nginx.asked).toBe(10);
    await source.stop();
    await source.stop();
    await world.sleep(5_000);
    expect(nginx.asked).toBe(10);
    expect(world.said().at(-1)).toBe("unknown shop/web");
  }));

it("leaves the hop unknown while it is silent, and invents no journey when it is back", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const events: string[] = [];
    const journeys = new Timeline({
      onEvent: ({ type, journey: { direction, endpoint, hops, outcome } }) => {
        const states = hops.map(({ hop, state }) => `${hop} ${state.type}`);
        events.push(`${type} ${direction} ${endpoint.address} ${outcome}: ${states.join(", ")}`);
      },
    });
    const observer = simulation.host("observer");
    const pods = { hop: "pod", name: "east" } as const;
    const web = { cluster: "east", service: "shop/web" };
    const pod = (address: string, direction: "join" | "leave", baseline: boolean) => {
      const endpoint = { ...web, address, port: 8080, podUid: `uid-${address}` };
      const at = observer.clock.monotonicMs();
      journeys.report({ witness: pods, endpoint, direction, at, baseline });
    };
    journeys.follow(pods, web);
    for (const address of ["10.0.0.1", "10.0.0.2"]) pod(address, "join", true);
    const nginx = newNginx({ "shop-web-80": ["10.0.0.1", "10.0.0.2"] });
    const world = { proxy: simulation.host("proxy") };
    const listener = await startNginx(world, nginx);
    const source = proxySource({
      ...observer,
      address: readProxyAddress(address),
      witness: new RoutedWitness({ replica: "proxy", sink: journeys }),
      clusters: ["east"],
    });
    source.start();
    await observer.timers.sleep(3_000);
    await listener.close();
    await observer.timers.sleep(10_000);
    pod("10.0.0.1", "leave", false);
    nginx.backends = { "shop-web-80": ["10.0.0.2"] };
    await observer.timers.sleep(1_000);
    await startNginx(world, nginx);
    await observer.timers.sleep(5_000);
    journeys.advance(observer.clock.monotonicMs());
    expect(events).toEqual([
      "shown leave 10.0.0.1 pending: pod shown",
      "over leave 10.0.0.1 complete: pod shown",
    ]);
    await source.stop();
  }));

/** A listener for administrators that answers this body at this path. */
async function startAdmin(
  { proxy }: Pick<RoutedWorld, "proxy">,
  answer: { readonly path: string; body: string },
): Promise<void> {
  await proxy.network.listen({ host: "proxy", port: 9001 }, (exchange) => {
    const isKnown = exchange.request.target.startsWith(answer.path);
    exchange.respond(isKnown ? 200 : 404).end(Buffer.from(isKnown ? answer.body : ""));
  });
}

function envoyClusters(clusters: Readonly<Record<string, readonly (readonly string[])[]>>): string {
  const statuses = Object.entries(clusters).map(([name, regions]) => ({
    name,
    host_statuses: regions.flatMap((addresses, index) =>
      addresses.map((address) => ({
        address: { socket_address: { address, port_value: 8080 } },
        locality: { region: `${name}/backend/${index}` },
      })),
    ),
  }));
  return JSON.stringify({ cluster_statuses: statuses });
}

it("finds the service of a backend that names none by its pods, and keeps it without pods", () =>
  withProxy(async (world) => {
    const rule = "httproute/shop/front/rule/0";
    const body = envoyClusters({ [rule]: [["10.0.0.1"], ["10.0.0.2", "10.0.0.9"]] });
    const answer = { path: "/clusters?format=json", body };
    await startAdmin(world, answer);
    const pods = new Map([
      ["10.0.0.1", ["shop/web"]],
      ["10.0.0.2", ["shop/api"]],
    ]);
    world.begin("envoy=http://proxy:9001", {
      isService: () => true,
      servicesAt: ({ address }) => pods.get(address) ?? [],
    });
    await world.sleep(1_500);
    expect(world.said()).toEqual([
      "follows shop/web",
      "join shop/web 10.0.0.1:8080 all along",
      "follows shop/api",
      "join shop/api 10.0.0.2:8080 all along",
      // It has no pod any more, and the proxy has not noticed.
      "join shop/api 10.0.0.9:8080 all along",
    ]);
    answer.body = envoyClusters({ [rule]: [["10.0.0.1"], []] });
    pods.clear();
    await world.sleep(2_000);
    expect(world.said().map((one) => one.replace(/ at .*/, ""))).toEqual([
      "leave shop/api 10.0.0.2:8080",
      "leave shop/api 10.0.0.9:8080",
    ]);
    answer.body = envoyClusters({ [rule]: [["10.0.0.1"], ["10.0.0.3"]] });
    await world.sleep(2_000);
    expect(world.said().map((one) => one.replace(/ at .*/, ""))).toEqual([
      "follows shop/api",
      "join shop/api 10.0.0.3:8080",
    ]);
    answer.body = envoyClusters({});
    await world.sleep(2_000);
    expect(world.said().slice(-2)).toEqual([expect.stringMatching(/leave/), "unknown shop/api"]);
  }));

it("decides by its pods between the services that a name can mean, and counts twins for none", () =>
  withProxy(async (world) => {
    const services = ["a-b-c-80@kubernetes", "shop-front-6f97418635c7e18853da@kubernetescrd"];
    const body = JSON.stringify(
      services.map((name, index) => ({
        name,
        loadBalancer: { servers: [{ url: `http://10.0.0.${index + 1}:8080` }] },
      })),
    );
    await startAdmin(world, { path: "/api/http/services", body });
    const source = world.begin("http://proxy:9001", {
      isService: (service) => service === "a/b-c" || service === "a-b/c",
      servicesAt: ({ address }) =>
        address === "10.0.0.1" ? ["a-b/c", "other/c"] : ["shop/web", "shop/web-twin"],
    });
    await world.sleep(2_500);
    expect(world.said()).toEqual(["follows a-b/c", "join a-b/c 10.0.0.1:8080 all along"]);
    expect(source.status).toMatchObject({ kind: "traefik", ambiguous: [services[1]] });
  }));

it("tells how the listener of a proxy is opened when it is closed", () =>
  withProxy(async (world) => {
    const source = world.begin("envoy=http://proxy:9001");
    await world.sleep(6_000);
    expect(source.status.problem).toMatch(
      /^GET http:\/\/proxy:9001\/clusters\?format=json: .*; the admin listener is at 127\.0\.0\.1/,
    );
  }));
