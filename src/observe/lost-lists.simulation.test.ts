// A cluster that answers lists with 200 and without the objects: no pod has left for that.
import { expect, test } from "vitest";
import { inObserverWorld, summary } from "../../tests/observer/observer-world.ts";

test("lists that come back empty for a while are not pods that left", () =>
  inObserverWorld(async (world) => {
    const { simulation } = world;
    await world.startCluster("east");
    await world.addService("east", "web");
    const addresses = ["10.0.1.1", "10.0.1.2", "10.0.1.3"];
    for (const [index, address] of addresses.entries()) {
      await world.addPod("east", `web-${index + 1}`, address);
    }
    await world.publish("east", "web", addresses);
    const { observer, events } = world.watch({ clusters: ["east"] });
    observer.start();
    await simulation.sleep(10_000);
    const faults = world.servers.get("east")?.faults;
    if (faults === undefined) throw new Error("there is no server");
    const match = { verbs: ["watch"] as const };
    faults.setRules([{ match, errors: { rate: 1, code: 500 } }]);
    faults.cache.lostFromLists = () => 1;
    faults.cache.resetWatches();
    const arePodsDoubted = () =>
      observer
        .clusters()
        .flatMap(({ watches }) => watches)
        .some(({ resource, doubt }) => resource === "pods" && doubt !== undefined);
    for (let second = 0; second < 60 && !arePodsDoubted(); second += 1) {
      await simulation.sleep(1_000);
    }
    expect(arePodsDoubted()).toBe(true);
    faults.setRules([]);
    faults.cache.lostFromLists = () => 0;
    await simulation.sleep(60_000);
    expect(summary(events.flatMap((event) => ("journey" in event ? [event.journey] : [])))).toEqual(
      [],
    );
  }));
