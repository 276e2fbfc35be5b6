import { expect, test } from "vitest";
import {
  type ControllerWorld,
  deployment,
  deployments,
  inControllerWorld,
  service,
  services,
} from "../../tests/controllers/controller-world.ts";
import { HttpKubeClient } from "../kube/client/http-client.ts";
import { fixedAccess } from "../kube/credentials/credentials.ts";
import type { Journey } from "../timeline/journey.ts";
import { Timeline } from "../timeline/timeline.ts";
import { ClusterWitness } from "./cluster-witness.ts";
import { openWatches } from "./observed-watch.ts";

async function observed(
  { simulation }: ControllerWorld,
  form: "endpointslices" | "endpoints",
  run: (over: readonly Journey[], journeys: Timeline) => Promise<void>,
): Promise<void> {
  const environment = simulation.host("lockstep");
  const over: Journey[] = [];
  const journeys = new Timeline({
    onEvent: (event) => event.type === "over" && over.push(event.journey),
  });
  const cluster = fixedAccess({
    name: "east",
    server: "https://server:6443",
    token: "admin-token",
  });
  const client = new HttpKubeClient({ ...environment, cluster, userAgent: "lockstep" });
  const witness = new ClusterWitness({
    ...environment,
    openWatch: openWatches({ ...environment, client }),
    cluster: "east",
    form,
    sink: journeys,
  });
  witness.start();
  await witness.waitForSync();
  await run(over, journeys);
  await witness.stop();
  await witness.stop();
}

/** The outcome of each change, without times and addresses. */
function summary(journeys: readonly Journey[]): readonly string[] {
  return journeys
    .map(({ direction, cause, outcome, hops }) => {
      const shown = hops.map(({ hop, state }) => `${hop} ${state.type}`).join(", ");
      return `${direction} ${cause}: ${outcome}: ${shown}`;
    })
    .sort();
}

test.each(["endpointslices", "endpoints"] as const)(
  "every change of a rollout is one journey, by %s",
  (form) =>
    inControllerWorld(async (world) => {
      await world.create(services, service("web"));
      await world.create(deployments, deployment("web", 2));
      await world.live(10_000);
      await observed(world, form, async (over, journeys) => {
        expect(journeys.counts).toMatchObject({ baseline: 4, opened: 0 });
        await world.call(
          "PATCH",
          `${deployments}/web`,
          { spec: { template: { metadata: { annotations: { rolled: "yes" } } } } },
          { contentType: "application/merge-patch+json" },
        );
        await world.live(30_000);
        journeys.advance(world.simulation.host("lockstep").clock.monotonicMs());
        const hops = "pod shown, published shown";
        expect(summary(over)).toEqual([
          `join ready: complete: ${hops}`,
          `join ready: complete: ${hops}`,
          `leave terminating: complete: ${hops}`,
          `leave terminating: complete: ${hops}`,
        ]);
        expect(journeys.pending()).toEqual([]);
        expect(journeys.counts).toMatchObject({ opened: 4, unknown: 0, repeated: 0 });
      });
    }),
);

test("a service that comes after its pods joins them when it comes", () =>
  inControllerWorld(async (world) => {
    await world.create(deployments, deployment("web", 1));
    await world.live(10_000);
    await observed(world, "endpointslices", async (over) => {
      await world.create(services, service("web"));
      await world.live(5_000);
      expect(summary(over)).toEqual(["join service added: complete: pod shown, published shown"]);
    });
  }));
