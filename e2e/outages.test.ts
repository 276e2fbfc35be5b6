// Faults beneath the ingress, with real nginx, real pods and traffic that never stops: endpoints
// that do not answer, machines that die silently, an API server that is down while they do. Every
// request is counted; nginx's own log shows the endpoints tried for each.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TrafficResult } from "../src/lab/traffic/traffic-result.ts";
import { openBlackHole } from "./black-hole.ts";
import { CountedTraffic } from "./counted-traffic.ts";
import { IngressProcess } from "./ingress-process.ts";
import { withoutNginx } from "./proxy-world.ts";
import { hostOf, type ShopPod, ShopsWorld } from "./shops-world.ts";

const requestsPerSecond = 60;
const podPort = 8080;

/** A node is lost in each of two tests, and every shop has pods on one that stays. */
const nodes = 3;
const podsEach = 5;
/** Requests go to the shops and to the replicas in turn: two of each would always meet the same. */
const shops = ["shop-1", "shop-2", "shop-3"];

const waitMs = 300_000;

/** The addresses of the lab's pods never end in this. */
const nobodysOctet = 253;

type Tries = ReadonlyMap<string, readonly string[]>;

describe.skipIf(withoutNginx !== false)("under load, with two replicas", () => {
  let world: ShopsWorld;
  let knownPods: readonly ShopPod[] = [];
  const replicas: IngressProcess[] = [];
  const lostNodes = new Set<string>();
  beforeAll(async () => {
    world = await ShopsWorld.start({ shops: shops.length, replicas: podsEach, nodes });
    knownPods = await world.pods();
    for (const name of ["one", "two"]) replicas.push(await IngressProcess.start(world, name));
  });
  afterAll(() => world?.stop());

  it(
    "an endpoint that answers nothing delays only who chose it before the first gave up",
    async () => {
      const [{ address }] = await survivors("shop-1");
      const hole = await openBlackHole(address.replace(/\d+$/, String(nobodysOctet)), podPort);
      world.atStop(() => hole.close());
      await world.publish("hole", [address]);
      await routedTo("hole", [address]);
      const traffic = await CountedTraffic.start({
        world,
        replicas,
        requestsPerSecond,
        hosts: [hostOf("hole")],
        path: "/hole",
      });
      await world.publish("hole", [address, hole.address]);
      await leftWithout(["hole"], new Set([hole.address]));
      await traffic.finish();
      const tries = await triesOf(traffic.results);
      const triedFor = ({ target }: TrafficResult) => tries.get(target) ?? [];
      const chose = (one: TrafficResult) => triedFor(one).includes(hole.address);
      expect(traffic.outcomes()).toEqual({ 200: traffic.sent });
      expect(traffic.results.filter(chose)).not.toEqual([]);
      // The others had nothing to wait for.
      const others = traffic.results.filter((one) => !chose(one));
      expect(others.map(triedFor)).toEqual(others.map(() => [address]));
      expectFirstOnly(traffic.results.filter(chose));
    },
    waitMs,
  );

  it(
    "a machine that dies without a word costs no request, and then is tried no more",
    async () => {
      const path = "/machine";
      const traffic = await CountedTraffic.start({ world, replicas, requestsPerSecond, path });
      const lost = await loseNode();
      await leftWithout(shops, lost);
      const sentUntil = traffic.sent;
      await world.until("some requests were sent since", () => traffic.sent > sentUntil + 60);
      await traffic.finish();
      expect(traffic.outcomes()).toEqual({ 200: traffic.sent });
      const tries = await triesOf(traffic.results);
      const triedSince = traffic.results
        .filter(({ number }) => number > sentUntil)
        .flatMap(({ target }) => tries.get(target) ?? []);
      expect(triedSince.filter((address) => lost.has(address))).toEqual([]);
    },
    waitMs,
  );

  it(
    "while the API server is down and a machine dies, service goes on; then the state is right",
    async () => {
      const traffic = await CountedTraffic.start({ world, replicas, requestsPerSecond });
      const { faults } = world.apiServer;
      faults.setRules([{ match: {}, resets: { rate: 1 } }]);
      faults.cache.resetWatches();
      await world.until("every replica knows that it receives nothing", async () =>
        (await Promise.all(replicas.map((replica) => replica.isBlind()))).every(Boolean),
      );
      const lost = await loseNode();
      await leftWithout(shops, lost);
      const sentUntil = traffic.sent;
      await world.until("many requests were sent since", () => traffic.sent > sentUntil + 180);
      faults.setRules([]);
      // Events arrive again, and the dead pods stay out.
      const [survivor] = await survivors("shop-1");
      await world.publish("hole", [survivor.address]);
      await routedTo("hole", [survivor.address]);
      for (const shop of shops) {
        await routedTo(
          shop,
          (await survivors(shop)).map(({ address }) => address),
        );
      }
      await traffic.finish();
      expect(traffic.outcomes()).toEqual({ 200: traffic.sent });
    },
    waitMs,
  );

  /** Those of a shop whose machine lives. */
  async function survivors(shop: string): Promise<[ShopPod, ...ShopPod[]]> {
    const [first, ...others] = (await world.pods()).filter(
      (pod) => pod.shop === shop && !lostNodes.has(pod.node),
    );
    if (first === undefined) throw new Error(`${shop} has no pod left`);
    return [first, ...others];
  }

  /** One whose loss leaves every shop a pod; gives the addresses that were on it. */
  async function loseNode(): Promise<ReadonlySet<string>> {
    const kubelet = world.cluster.kubelets.find(({ node }) => isDispensable(node));
    if (kubelet === undefined) throw new Error("no node can be lost");
    const pods = knownPods.filter(({ node }) => node === kubelet.node);
    lostNodes.add(kubelet.node);
    await kubelet.powerOff();
    return new Set(pods.map(({ address }) => address));
  }

  function isDispensable(node: string): boolean {
    const left = knownPods.filter((pod) => !lostNodes.has(pod.node));
    const staying = new Set(left.filter((pod) => pod.node !== node).map(({ shop }) => shop));
    return staying.size === shops.length && left.some((pod) => pod.node === node);
  }

  /** Waits until every replica, and its nginx, has left all of these and routes to none. */
  async function leftWithout(
    services: readonly string[],
    lost: ReadonlySet<string>,
  ): Promise<void> {
    await world.until("every replica has left the dead", async () => {
      const active = await Promise.all(services.flatMap((one) => replicas.map(activeOf(one))));
      if (active.some((one) => [...lost].some((address) => one.has(address)))) return false;
      const left = await Promise.all(replicas.map(leftBy(services)));
      return left.every((one) => [...lost].every((address) => one.has(address)));
    });
  }

  function leftBy(services: readonly string[]) {
    return async (replica: IngressProcess): Promise<ReadonlySet<string>> => {
      const left = services.map((one) => replica.leftAddresses(`default/${one}:80`));
      return new Set((await Promise.all(left)).flatMap((one) => [...one]));
    };
  }

  /** Waits until every replica routes to exactly these. */
  async function routedTo(service: string, addresses: readonly string[]): Promise<void> {
    await world.until(`${service} leads to ${addresses.join(" and ")}`, async () => {
      const active = await Promise.all(replicas.map(activeOf(service)));
      return active.every((one) => [...one].sort().join() === [...addresses].sort().join());
    });
  }

  function activeOf(service: string) {
    return (replica: IngressProcess) => replica.activeAddresses(`default/${service}:80`);
  }

  /** The endpoints tried for each of these, once nginx has logged all of them. */
  async function triesOf(results: readonly TrafficResult[]): Promise<Tries> {
    let tries: Tries = new Map();
    await world.until("nginx has written its logs", async () => {
      const logs = await Promise.all(replicas.map((replica) => replica.tries()));
      tries = new Map(logs.flatMap((log) => [...log]));
      return results.every(({ target }) => tries.has(target));
    });
    return tries;
  }
});

/** Of those who chose a silent endpoint none was sent after another one had given it up. */
function expectFirstOnly(chose: readonly TrafficResult[]): void {
  for (const name of new Set(chose.map(({ replica }) => replica))) {
    const through = chose.filter(({ replica }) => replica === name);
    const firstDone = Math.min(...through.map(({ doneAt }) => doneAt));
    expect(through.filter(({ sentAt }) => sentAt > firstDone)).toEqual([]);
  }
}
