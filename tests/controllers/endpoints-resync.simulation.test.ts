import { describe, expect, test } from "vitest";
import { textAt, textMapAt } from "../../src/apiserver/kinds/fields.ts";
import type { ProfileName } from "../../src/lab/versions/profiles.ts";
import { isThorough } from "../../src/simulation/seeds.ts";
import {
  addPod,
  type EndpointsWorld,
  fill,
  inEndpointsWorld,
  namespacePath,
  patch,
} from "./endpoints-world.ts";

const trigger = "endpoints.kubernetes.io/last-change-trigger-time";

/** Keys that workers hold at the start are processed twice; one worker has the first service. */
const oneWorker = { "concurrent-endpoint-syncs": 1 };

/** The requests and the number of changed objects since the last call. */
async function cost(world: EndpointsWorld): Promise<string> {
  const asked = Object.entries(world.requests()).map(([what, count]) => `${count} ${what}`);
  return `${asked.sort().join(", ") || "nothing"}; ${await world.changed()} changed`;
}

describe("going over three headless services and two others", () => {
  const quiet = "nothing; 0 changed";

  test.each<[ProfileName, readonly string[]]>([
    [
      "1.17.3",
      [
        // The trigger time is removed, then there is nothing left to change.
        "3 PUT endpoints; 3 changed",
        "3 PUT endpoints; 0 changed",
        // The first sight of a service gives it back, and its first resync takes it away again.
        "3 PUT endpoints; 3 changed",
        "3 PUT endpoints; 3 changed",
        "3 PUT endpoints; 0 changed",
      ],
    ],
    ["1.17.13", [quiet, quiet, quiet, quiet, quiet]],
    ["1.33", [quiet, quiet, quiet, quiet, quiet]],
  ])("%s asks for", async (profile, expected) => {
    await inEndpointsWorld({ profile, flags: oneWorker }, async (world) => {
      await fill(world, 3, 2);
      expect(await cost(world)).toBe("5 POST endpoints; 5 changed");
      const costs: string[] = [];
      await world.untilResynced();
      costs.push(await cost(world));
      await world.untilResynced();
      costs.push(await cost(world));
      await world.restart();
      costs.push(await cost(world));
      await world.untilResynced();
      costs.push(await cost(world));
      await world.untilResynced();
      costs.push(await cost(world));
      expect(costs).toEqual(expected);
    });
  });
});

test.each<[ProfileName, string]>([
  ["1.9", "1 PUT endpoints; 0 changed"],
  ["1.17.3", "1 PUT endpoints; 0 changed"],
  ["1.17.13", "nothing; 0 changed"],
])(
  "going over a service whose two ports the server sorts its own way, %s asks for",
  (profile, each) =>
    inEndpointsWorld({ profile, flags: oneWorker }, async (world) => {
      await fill(world, 0, 1);
      await addPod(world);
      const ports = [
        { name: "http", port: 80 },
        { name: "https", port: 443 },
      ];
      await patch(world, "services/b0", { spec: { ports } });
      await cost(world);
      await world.untilResynced();
      expect(await cost(world)).toBe(each);
      await world.untilResynced();
      expect(await cost(world)).toBe(each);
    }),
);

describe.runIf(isThorough(process.env))(
  "a controller that starts again or goes over everything",
  () => {
    test("1.17.3 takes a service's creation for its trigger time when it starts again", () =>
      inEndpointsWorld({ profile: "1.17.3", flags: oneWorker }, async (world) => {
        await fill(world, 3, 0);
        const read = async (path: string) =>
          (await world.call("GET", `${namespacePath}/${path}`)).json;
        const triggers = async () =>
          textMapAt(await read("endpoints/a2"), "metadata", "annotations");
        await world.untilResynced();
        expect(await triggers()).toEqual({});
        await world.restart();
        const created = textAt(await read("services/a2"), "metadata", "creationTimestamp");
        expect(await triggers()).toEqual({ [trigger]: created });
      }));

    test("1.17.3 works once more on what its workers had in hand when it started", () =>
      inEndpointsWorld({ profile: "1.17.3" }, async (world) => {
        await fill(world, 8, 0);
        await world.untilResynced();
        await cost(world);
        await world.restart();
        // One of five workers had nothing to do; the services of the others got a trigger time and
        // lost it.
        expect(await cost(world)).toBe("12 PUT endpoints; 8 changed");
        await world.untilResynced();
        expect(await cost(world)).toBe("8 PUT endpoints; 4 changed");
      }));

    test("1.7 asks for every object each 30 s, and writes those without addresses each time", () =>
      inEndpointsWorld({ profile: "1.7" }, async (world) => {
        await fill(world, 1, 1);
        await addPod(world);
        await world.simulation.sleep(60_000);
        await cost(world);
        await world.simulation.sleep(120_000);
        expect(await cost(world)).toBe("4 PUT endpoints, 8 GET endpoints; 0 changed");
        await world.restart();
        // One to list all, and by the time it is answered the first round is over: two rounds.
        expect(await cost(world)).toBe("2 PUT endpoints, 5 GET endpoints; 0 changed");
      }));

    test.each<[ProfileName, string, string]>([
      ["1.17.13", "1 PUT endpoints; 1 changed", "nothing; 0 changed"],
      ["1.33", "nothing; 0 changed", "nothing; 0 changed"],
    ])(
      "a pod that was touched costs %s a write at the next resync alone",
      (profile, first, second) =>
        inEndpointsWorld({ profile }, async (world) => {
          await fill(world, 0, 2);
          await addPod(world);
          await cost(world);
          await patch(world, "pods/p", { metadata: { annotations: { touched: "yes" } } });
          expect(await cost(world)).toBe("nothing; 0 changed");
          await world.untilResynced();
          expect(await cost(world)).toBe(first);
          await world.untilResynced();
          expect(await cost(world)).toBe(second);
        }),
    );

    test("after the step from 1.17.13 to 1.33 every service with a selector is written once", () =>
      inEndpointsWorld({ profile: "1.17.13", flags: oneWorker }, async (world) => {
        await fill(world, 2, 2);
        await addPod(world);
        await cost(world);
        await world.restart("1.33");
        expect(await cost(world)).toBe("4 PUT endpoints; 4 changed");
        await world.restart("1.33");
        expect(await cost(world)).toBe("nothing; 0 changed");
      }));

    test.each<[ProfileName, number]>([
      ["1.9", 0],
      // The pod was added and became ready; each is added after a delay of nothing.
      ["1.17.3", 2],
      ["1.33", 2],
    ])("%s counts %i retries where nothing failed", (profile, expected) =>
      inEndpointsWorld({ profile }, async (world) => {
        await fill(world, 0, 1);
        await addPod(world);
        const text = await world.registry().getSingleMetricAsString("workqueue_retries_total");
        expect(Number(/name="endpoint"\} (\d+)/.exec(text)?.[1])).toBe(expected);
      }),
    );
  },
);
