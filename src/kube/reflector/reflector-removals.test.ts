// Lists that lose objects, against a scripted server in virtual time: nothing that is known is removed
// because one list did not have it.
import { describe, expect, test } from "vitest";
import {
  names,
  type ReflectorWorld,
  reflectorWorld,
  refusal,
  type ScriptedAnswer,
} from "../../../tests/reflector/reflector-world.ts";

const expired = refusal(410, { reason: "Expired", message: "too old resource version" });
const pods = ["web-0", "web-1", "web-2", "web-3"];
const kept =
  "list of pods returned 0 of 4 known objects; the old ones are kept until 3 lists agree";

/** Answers with a list of its own. */
function listOf(list: object | string): ScriptedAnswer {
  const body = typeof list === "string" ? list : JSON.stringify(list);
  return (exchange) => exchange.respond(200).end(Buffer.from(body));
}

const emptyList = listOf({ kind: "PodList", metadata: { resourceVersion: "9" }, items: [] });

/** Listed once, and about to be listed again because the version the watch had has expired. */
async function startAndExpire({ simulation, server, reflector }: ReflectorWorld): Promise<void> {
  for (const name of pods) server.put(name);
  reflector.start();
  await reflector.waitForSync();
  await simulation.sleep(5_000);
  server.script("watch", expired);
  server.endWatches("end");
}

async function metric({ registry }: ReflectorWorld, name: string): Promise<number | undefined> {
  return (await registry.getSingleMetric(name)?.get())?.values[0]?.value;
}

describe("a list that has lost most objects", () => {
  test("removes nothing when the next one has them, and says so meanwhile", () =>
    reflectorWorld(async (world) => {
      const { simulation, server, reflector, delivered } = world;
      server.script("list", server.list, emptyList);
      await startAndExpire(world);
      await simulation.sleep(5_000);
      expect(names(reflector.store)).toEqual(pods);
      expect(reflector.freshness()).toMatchObject({ fresh: false, reason: kept, doubt: kept });
      expect(reflector.condition()).toEqual({ type: "doubted", message: kept });
      expect(await metric(world, "lockstep_reflector_doubted_objects")).toBe(4);
      await simulation.sleep(30_000);
      expect(names(reflector.store)).toEqual(pods);
      expect(delivered.filter((line) => line.startsWith("deleted"))).toEqual([]);
      expect(reflector.freshness()).toMatchObject({ fresh: true, doubt: undefined });
      expect(await metric(world, "lockstep_reflector_doubted_objects")).toBe(0);
      expect(await metric(world, "lockstep_reflector_doubted_lists_total")).toBe(1);
    }));

  test("is made again as a whole and by quorum, and removes them when three lists agree", () =>
    reflectorWorld(async (world) => {
      const { simulation, server, reflector } = world;
      await startAndExpire(world);
      for (const name of pods) server.delete(name);
      await simulation.sleep(15_000);
      expect(names(reflector.store)).toEqual(pods);
      await simulation.sleep(20_000);
      expect(names(reflector.store)).toEqual([]);
      expect(reflector.freshness()).toMatchObject({ fresh: true, doubt: undefined });
      const queries = server.seen("list").map(({ query }) => query);
      expect(queries.slice(-2)).toEqual([{}, {}]);
    }));

  test("counts as lost when it has half of them, and not when it has more", () =>
    reflectorWorld(async (world) => {
      const { simulation, server, reflector } = world;
      await startAndExpire(world);
      server.delete("web-0");
      await simulation.sleep(5_000);
      expect(names(reflector.store)).toEqual(["web-1", "web-2", "web-3"]);
      server.script("watch", expired);
      server.endWatches("end");
      server.delete("web-1");
      server.delete("web-2");
      await simulation.sleep(5_000);
      expect(names(reflector.store)).toEqual(["web-1", "web-2", "web-3"]);
    }));

  test("ends the doubt after a bounded time, though no two lists agree", () =>
    reflectorWorld(async (world) => {
      const { simulation, server, reflector } = world;
      await startAndExpire(world);
      const half = (items: readonly string[]) => (): ScriptedAnswer =>
        listOf({
          kind: "PodList",
          metadata: { resourceVersion: "9" },
          items: items.map((name) => server.pods.get(name)),
        });
      const halves = [half(pods.slice(0, 2)), half(pods.slice(2))];
      for (let round = 0; round < 20; round += 1) {
        const answer = halves[round % 2]?.();
        if (answer !== undefined) server.script("list", answer);
      }
      await simulation.sleep(60_000);
      expect(names(reflector.store)).toEqual(pods);
      await simulation.sleep(120_000);
      expect(reflector.store.size).toBe(2);
    }));
});

test("deletions that the watch reports are applied at once, however many", () =>
  reflectorWorld(async ({ simulation, server, reflector }) => {
    for (const name of pods) server.put(name);
    reflector.start();
    await reflector.waitForSync();
    await simulation.sleep(1_000);
    for (const name of pods) server.delete(name);
    await simulation.sleep(100);
    expect([reflector.store.size, reflector.freshness().fresh]).toEqual([0, true]);
  }));

test("removals that something else checks are applied at once", () =>
  reflectorWorld(
    async (world) => {
      const { simulation, server, reflector } = world;
      await startAndExpire(world);
      server.script("list", emptyList);
      await simulation.sleep(5_000);
      expect(reflector.store.size).toBe(0);
    },
    { removals: "at once" },
  ));

test("a first list without most of what an earlier process knew is checked as well", () =>
  reflectorWorld(
    async ({ simulation, server, reflector }) => {
      for (const name of pods) server.put(name);
      server.script("list", emptyList);
      reflector.start();
      await simulation.sleep(5_000);
      expect(reflector.synced).toBe(false);
      expect(reflector.freshness().reason).toContain("returned 0 of 4 known objects");
      await reflector.waitForSync();
      expect(names(reflector.store)).toEqual(pods);
    },
    { knownBefore: { before: () => pods.length } },
  ));

test.each([
  ["an empty object", "{}"],
  ["an empty body", ""],
  ["no items", { kind: "PodList", metadata: { resourceVersion: "9" } }],
  ["another kind's list", { kind: "ServiceList", metadata: { resourceVersion: "9" }, items: [] }],
  ["no kind", { metadata: { resourceVersion: "9" }, items: [] }],
])("an answer with %s is an error and not an empty list", (_, answer) =>
  reflectorWorld(async (world) => {
    const { simulation, server, reflector } = world;
    server.script("list", listOf(answer));
    reflector.start();
    await simulation.sleep(50);
    expect([reflector.state, reflector.synced]).toEqual(["waiting", false]);
    expect(reflector.condition().type).toBe("retrying");
  }),
);

test("pages that end before the announced number of objects are not the whole list", () =>
  reflectorWorld(async ({ simulation, server, reflector }) => {
    for (const name of pods) server.put(name);
    const metadata = { resourceVersion: "9", continue: "1", remainingItemCount: 3 };
    const [first, second] = [...server.pods.values()];
    server.script("list", listOf({ kind: "PodList", metadata, items: [first] }));
    const cut = { kind: "PodList", metadata: { resourceVersion: "9" }, items: [second] };
    server.script("page", listOf(cut));
    reflector.start();
    await simulation.sleep(5_000);
    expect(reflector.synced).toBe(false);
    await reflector.waitForSync();
    expect(names(reflector.store)).toEqual(pods);
  }));
