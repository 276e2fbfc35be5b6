import { describe, expect, test } from "vitest";
import { objectsAt } from "../../src/apiserver/kinds/fields.ts";
import type { ProfileName } from "../../src/lab/versions/profiles.ts";
import { isThorough } from "../../src/simulation/seeds.ts";
import { fill, inEndpointsWorld, namespacePath, patch } from "./endpoints-world.ts";

const err = "Internal error occurred: injected fault";

/** Five milliseconds doubled fifteen times, and room to spare. */
const untilDroppedMs = 400_000;

interface Failing {
  readonly asked: Readonly<Record<string, number>>;
  /** How often each was logged, without times. */
  readonly lines: Readonly<Record<string, number>>;
  readonly events: readonly object[];
}

/** A label of a service is to be written, and every PUT is refused until it is given up. */
async function failing(profile: ProfileName): Promise<Failing> {
  const results: Failing[] = [];
  await inEndpointsWorld({ profile, flags: { v: 2 } }, async (world) => {
    await fill(world, 0, 1);
    world.server.faults.setRules([
      { match: { resource: "endpoints", verbs: ["update"] }, errors: { rate: 1, code: 500 } },
    ]);
    world.requests();
    const before = world.klog.lines().length;
    await patch(world, "services/b0", { metadata: { labels: { team: "shop" } } });
    await world.simulation.sleep(untilDroppedMs);
    const lines: Record<string, number> = {};
    for (const { text } of world.klog.lines().slice(before)) {
      const words = text.slice("I0101 00:00:00.000000       1 ".length);
      const line = `${text[0]} ${words.replace(/ UID:.* FieldPath/, " FieldPath")}`;
      lines[line] = (lines[line] ?? 0) + 1;
    }
    const { json } = await world.call("GET", `${namespacePath}/events`);
    const events = objectsAt(json, "items").map(({ type, reason, message, count, source }) => ({
      type,
      reason,
      message,
      count,
      source,
    }));
    results.push({ asked: world.requests(), lines, events });
  });
  const [result] = results;
  if (result === undefined) throw new Error("the world ended early");
  return result;
}

describe.runIf(isThorough(process.env))("Endpoints that cannot be written", () => {
  const events = [
    {
      type: "Warning",
      reason: "FailedToUpdateEndpoint",
      message: `Failed to update endpoint default/b0: ${err}`,
      count: 16,
      source: { component: "endpoint-controller" },
    },
  ];
  const eventWrites = { "POST events": 1, "PATCH events": 15 };

  test.each<[ProfileName, Failing]>([
    [
      "1.9",
      {
        asked: { "PUT endpoints": 16 },
        lines: {
          [`I endpoints_controller.go:375] Error syncing endpoints for service "default/b0": ${err}`]: 15,
          [`W endpoints_controller.go:380] Dropping service "default/b0" out of the queue: ${err}`]: 1,
          [`E endpoints_controller.go:382] ${err}`]: 1,
        },
        events: [],
      },
    ],
    [
      "1.17.3",
      {
        asked: { "PUT endpoints": 16, ...eventWrites },
        lines: {
          [`I endpoints_controller.go:340] Error syncing endpoints for service "default/b0", ` +
            `retrying. Error: ${err}`]: 15,
          [`W endpoints_controller.go:345] Dropping service "default/b0" out of the queue: ${err}`]: 1,
          [`E endpoints_controller.go:347] ${err}`]: 1,
          [`I event.go:281] Event(v1.ObjectReference{Kind:"Endpoints", Namespace:"default", ` +
            `Name:"b0", FieldPath:""}): type: 'Warning' reason: 'FailedToUpdateEndpoint' ` +
            `Failed to update endpoint default/b0: ${err}`]: 16,
        },
        events,
      },
    ],
    [
      "1.33",
      {
        asked: { "PUT endpoints": 16, ...eventWrites },
        lines: {
          [`I endpoints_controller.go:334] "Error syncing endpoints, retrying" ` +
            `logger="endpoints-controller" service="default/b0" err="${err}"`]: 15,
          [`I endpoints_controller.go:339] "Dropping service out of the queue" ` +
            `logger="endpoints-controller" service="default/b0" err="${err}"`]: 1,
          [`E endpoints_controller.go:341] "Unhandled Error" err="${err}" ` +
            `logger="UnhandledError"`]: 1,
        },
        events,
      },
    ],
  ])("are tried fifteen times more and dropped by %s", async (profile, expected) => {
    expect(await failing(profile)).toEqual(expected);
  });

  test("are tried without end by 1.7, which asks for them each time", async () => {
    const { asked, lines, events: none } = await failing("1.7");
    const count = asked["PUT endpoints"] ?? 0;
    expect(count).toBeGreaterThan(16);
    expect(asked).toEqual({ "GET endpoints": count, "PUT endpoints": count });
    const line = `E endpoints_controller.go:277] Sync default/b0 failed with ${err}`;
    expect([lines, none]).toEqual([{ [line]: count }, []]);
  });
});
