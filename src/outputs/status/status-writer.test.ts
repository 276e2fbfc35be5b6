import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { type ApiWorld, inApiWorld } from "../../../tests/apiserver/api-world.ts";
import { loadBalancerAddress } from "../../decide/status/load-balancer-address.ts";
import type { Network } from "../../environment/network.ts";
import { HttpKubeClient } from "../../kube/client/http-client.ts";
import { fixedAccess } from "../../kube/credentials/credentials.ts";
import { type Ingress, ingressKind } from "../../kube/kinds/ingress.ts";
import { objectKey } from "../../kube/kinds/kind.ts";
import {
  type AskedIngresses,
  resyncEveryMs,
  StatusWriter,
  type StatusWriterOptions,
} from "./status-writer.ts";

const ingresses = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";
const mergePatch = { contentType: "application/merge-patch+json" };

async function created({ call }: ApiWorld): Promise<Ingress> {
  const service = { name: "web", port: { number: 80 } };
  const spec = { ingressClassName: "lockstep", defaultBackend: { service } };
  const { json } = await call("POST", ingresses, { metadata: { name: "shop" }, spec });
  return ingressKind.project(json);
}

/** The versions of the one Ingress, one after the other. */
function askedOf(versions: readonly Ingress[], isSettled = () => true): AskedIngresses {
  const [first] = versions;
  let looks = 0;
  return {
    ingresses: () => (first === undefined ? [] : [first]),
    ingress: () => {
      const version = versions[Math.min(looks, versions.length - 1)];
      looks += 1;
      return version;
    },
    classes: () => [],
    get settled() {
      return isSettled();
    },
    follow: () => () => undefined,
  };
}

function writerOf(
  { simulation }: ApiWorld,
  asked: AskedIngresses,
  metrics = new Registry(),
  network = simulation.host("leader").network,
  routed: Pick<StatusWriterOptions, "untilRouted"> = {},
) {
  const environment = { ...simulation.host("leader"), network };
  const cluster = fixedAccess({ name: "c", server: "http://server:6443", token: "admin-token" });
  const client = new HttpKubeClient({ ...environment, cluster, userAgent: "test" });
  const addresses = [loadBalancerAddress("192.0.2.1")];
  return new StatusWriter({
    ...environment,
    client,
    asked,
    className: "lockstep",
    addresses,
    metrics,
    ...routed,
  });
}

async function addressesNow({ call }: ApiWorld) {
  const { json } = await call("GET", `${ingresses}/shop`);
  return ingressKind.project(json).loadBalancer.map(({ ip }) => ip);
}

test("a write on an old version is refused and repeated on the newer one", () =>
  inApiWorld(async (world) => {
    const old = await created(world);
    const labels = { team: "edge" };
    const { json } = await world.call(
      "PATCH",
      `${ingresses}/shop`,
      { metadata: { labels } },
      mergePatch,
    );
    const metrics = new Registry();
    const term = new AbortController();
    const writer = writerOf(world, askedOf([old, ingressKind.project(json)]), metrics);
    const running = writer.run(term.signal);
    await world.simulation.sleep(1_000);
    expect(await addressesNow(world)).toEqual(["192.0.2.1"]);
    const counted = await metrics.getSingleMetric("lockstep_status_writes_total")?.get();
    expect(counted?.values.map(({ labels: { outcome }, value }) => [outcome, value])).toEqual([
      ["conflict", 1],
      ["written", 1],
    ]);
    term.abort();
    await running;
  }));

test("no address is shown before the proxy routes by the Ingress", () =>
  inApiWorld(async (world) => {
    const { simulation } = world;
    const ingress = await created(world);
    const waitedFor: string[] = [];
    const untilRouted = async ({ metadata }: Ingress, signal: AbortSignal): Promise<void> => {
      waitedFor.push(metadata.name);
      await simulation.host("leader").timers.sleep(5_000, signal);
    };
    const term = new AbortController();
    const writer = writerOf(world, askedOf([ingress]), undefined, undefined, { untilRouted });
    const running = writer.run(term.signal);
    await simulation.sleep(4_900);
    expect(await addressesNow(world)).toEqual([]);
    await simulation.sleep(200);
    expect(await addressesNow(world)).toEqual(["192.0.2.1"]);
    expect(waitedFor).toEqual(["shop"]);
    term.abort();
    await running;
  }));

test("nothing is written before it is known which Ingresses are ours", () =>
  inApiWorld(async (world) => {
    const ingress = await created(world);
    const settledAtMs = world.simulation.now() + 5_000;
    const isSettled = () => world.simulation.now() >= settledAtMs;
    const term = new AbortController();
    const running = writerOf(world, askedOf([ingress], isSettled)).run(term.signal);
    await world.simulation.sleep(4_900);
    expect(await addressesNow(world)).toEqual([]);
    await world.simulation.sleep(200);
    expect(await addressesNow(world)).toEqual(["192.0.2.1"]);
    term.abort();
    await running;
  }));

test("a term that ends before anything is known writes nothing", () =>
  inApiWorld(async (world) => {
    const ingress = await created(world);
    const term = new AbortController();
    const running = writerOf(
      world,
      askedOf([ingress], () => false),
    ).run(term.signal);
    await world.simulation.sleep(1_000);
    term.abort(new Error("the lock is lost"));
    await running;
    expect(await addressesNow(world)).toEqual([]);
  }));

test("a permission that was missing is used when it has been given", () =>
  inApiWorld(async (world) => {
    const ingress = await created(world);
    const { network } = world.simulation.host("leader");
    let isRefused = true;
    // Where writes go while they are not permitted.
    await world.simulation
      .host("refusal")
      .network.listen({ host: "refusal", port: 6443 }, (exchange) => exchange.respond(403).end());
    const permitted: Network = {
      listen: (options, handler) => network.listen(options, handler),
      request: (request) => {
        const isWrite = isRefused && request.method === "PATCH";
        const url = isWrite ? request.url.replace("//server:", "//refusal:") : request.url;
        return network.request({ ...request, url });
      },
    };
    const term = new AbortController();
    const metrics = new Registry();
    const running = writerOf(world, askedOf([ingress]), metrics, permitted).run(term.signal);
    await world.simulation.sleep(resyncEveryMs - 1);
    isRefused = false;
    expect(await addressesNow(world)).toEqual([]);
    await world.simulation.sleep(1_000);
    expect(await addressesNow(world)).toEqual(["192.0.2.1"]);
    const counted = await metrics.getSingleMetric("lockstep_status_writes_total")?.get();
    // The first try and fifteen more, and then none before the resync.
    expect(counted?.values.map(({ value }) => value)).toEqual([16, 1]);
    term.abort();
    await running;
  }));

test("an Ingress is written before the many of another namespace that wait with it", () =>
  inApiWorld(async (world) => {
    const crowd = Array.from({ length: 100 }, (_, index) => ingressOf("loud", `web-${index}`));
    const all = new Map(
      [...crowd, ingressOf("quiet", "web")].map((one) => [objectKey(one.metadata), one]),
    );
    const turns: string[] = [];
    const untilRouted = async ({ metadata }: Ingress): Promise<void> => {
      turns.push(objectKey(metadata));
    };
    const asked: AskedIngresses = {
      ...askedOf([]),
      ingresses: () => [...all.values()],
      ingress: (namespace, name) => all.get(objectKey({ namespace, name })),
      settled: true,
    };
    const term = new AbortController();
    const writer = writerOf(world, asked, undefined, undefined, { untilRouted });
    const running = writer.run(term.signal);
    while (turns.length < all.size) await world.simulation.sleep(100);
    expect(turns.indexOf("quiet/web")).toBe(1);
    term.abort();
    await running;
  }));

function ingressOf(namespace: string, name: string): Ingress {
  const service = { name: "web", port: { number: 80 } };
  const spec = { ingressClassName: "lockstep", defaultBackend: { service } };
  const metadata = { namespace, name, uid: name, resourceVersion: "1" };
  return ingressKind.project({ metadata, spec });
}
