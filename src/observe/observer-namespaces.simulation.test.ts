// Namespaces that are watched separately: losing the permissions in one does not change the reports
// of the others.
import { expect, test } from "vitest";
import {
  inObserverWorld,
  type ObserverWorld,
  observerHost,
  summary,
  type Watching,
} from "../../tests/observer/observer-world.ts";

const kinds = ["services", "pods", "endpointslices"];
const whole = "pod east shown, published east shown";

/** An observer of both namespaces of a cluster, of which it may read both at first. */
async function watchBoth(world: ObserverWorld): Promise<Watching> {
  await world.startCluster("east", { hasRules: true });
  await world.allow("east", kinds, { namespace: "shop" });
  await world.allow("east", kinds, { namespace: "other" });
  for (const namespace of ["shop", "other"]) await world.addService("east", "web", namespace);
  await world.addPod("east", "web-1", "10.0.0.1");
  await world.publish("east", "web", ["10.0.0.1"]);
  const watching = world.watch({
    clusters: ["east"],
    namespaces: ["shop", "other"],
    user: "reader",
    nodes: false,
  });
  watching.observer.start();
  await watching.observer.waitForSync();
  await world.simulation.sleep(60_000);
  return watching;
}

/** From now on the observer may read nothing in `other`, and its watches have to start again. */
async function closeOther(world: ObserverWorld): Promise<void> {
  const bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/other/rolebindings";
  await world.call("east", "DELETE", `${bindings}/given-2`);
  world.simulation.network.resetConnections(observerHost, "east");
}

test("a change of before is found in a namespace beside one that may not be read any more", () =>
  inObserverWorld(async (world) => {
    const { observer } = await watchBoth(world);
    await closeOther(world);
    await world.simulation.sleep(60_000);
    const { clock } = world.simulation.host(observerHost);
    observer.replica("proxy").began(new Map([["shop/web", []]]), clock.monotonicMs());
    await world.simulation.sleep(120_000);
    const pending = observer.journeys.pending();
    expect(pending.map(({ endpoint, direction }) => `${endpoint.service} ${direction}`)).toEqual([
      "shop/web join",
    ]);
  }));

test("a late report in a namespace does not wait for one that may not be read any more", () =>
  inObserverWorld(async (world) => {
    const { over } = await watchBoth(world);
    world.simulation.network.partition(observerHost, "east");
    await world.addPod("east", "web-2", "10.0.0.2");
    await world.publish("east", "web", ["10.0.0.1", "10.0.0.2"]);
    await closeOther(world);
    await world.simulation.sleep(3_000);
    world.simulation.network.heal(observerHost, "east");
    await world.simulation.sleep(15_000);
    expect(summary(over)).toEqual([`east: shop/web 10.0.0.2 join, complete: ${whole}`]);
  }));
