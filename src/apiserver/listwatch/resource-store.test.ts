// Writing and listing, and what a lagging cache does to both.
import { describe, expect, it } from "vitest";
import {
  hasApp,
  openServer,
  openStores,
  pod,
  type SimulatedStores,
} from "../../../tests/apiserver/simulated-stores.ts";
import { WatchRecording } from "../../../tests/apiserver/watch-recording.ts";
import { type Simulation, simulate } from "../../simulation/simulation.ts";
import { ApiError } from "../api-error.ts";
import type { Storage } from "../storage/storage.ts";
import { encodeList } from "./encoded-object.ts";
import type { ListAnswer, ListRequest } from "./list-plan.ts";
import type { ResourceStore } from "./resource-store.ts";

/** Runs in virtual time, with stores over one storage. */
function simulateStores<Result>(
  seed: number,
  main: (stores: SimulatedStores<Simulation>) => Promise<Result>,
): Promise<Result> {
  return simulate({ seed }, (simulation) => main(openStores(simulation)));
}

/** `a/web-0@12 …`, the version, and what else the answer says; or the refusal. */
async function listed(pods: ResourceStore, request: ListRequest = {}): Promise<unknown> {
  try {
    return shown(await pods.list(request));
  } catch (error) {
    if (error instanceof ApiError) return `${error.code} ${error.message}`;
    throw error;
  }
}

function shown(answer: ListAnswer): unknown {
  const { items, resourceVersion, continueToken, remainingItemCount } = answer;
  const names = items.map(({ object: { metadata } }) => {
    return `${metadata.namespace}/${metadata.name}@${metadata.resourceVersion}`;
  });
  return {
    items: names,
    resourceVersion,
    more: continueToken !== undefined,
    ...(remainingItemCount === undefined ? {} : { remainingItemCount }),
  };
}

async function refused(attempt: Promise<unknown>): Promise<unknown> {
  return attempt.then(
    () => "not refused",
    (error: unknown) => (error instanceof ApiError ? error.toStatus() : error),
  );
}

/** Pods a/1@2 a/2@3 b/1@4 a/3@5, then a/1 changed @6 and b/1 removed @7; a lease @8. */
async function fill({
  storage,
  server,
  writeElsewhere,
}: SimulatedStores<Simulation>): Promise<ResourceStore> {
  const { pods } = server("api-1");
  for (const [namespace, name] of [
    ["a", "1"],
    ["a", "2"],
    ["b", "1"],
    ["a", "3"],
  ] as const) {
    await pods.create(pod(namespace, name, { app: name === "2" ? "db" : "web" }));
  }
  await pods.update("a", "1", () => pod("a", "1", { note: "changed" }));
  await pods.delete("b", "1", () => undefined);
  await writeElsewhere();
  expect((await storage.get("")).revision).toBe(8);
  return pods;
}

describe("writing", () => {
  it("gives back what it stored, with its version", () =>
    simulateStores(1, async ({ server }) => {
      const { pods } = server("api-1");
      const created = await pods.create(pod("a", "x"));
      expect(created).toEqual(withVersion(pod("a", "x"), "2"));
      const note = { note: "new" };
      const updated = await pods.update("a", "x", () => pod("a", "x", note));
      expect(updated).toEqual({ object: withVersion(pod("a", "x", note), "3"), written: true });
      expect(await pods.get("a", "x")).toEqual(updated.object);
      const removed = await pods.delete("a", "x", () => undefined);
      expect(removed).toEqual(withVersion(pod("a", "x", note), "4"));
      expect(await pods.get("a", "x")).toBeUndefined();
    }));

  it("refuses to create what exists and to change or remove what does not", () =>
    simulateStores(1, async ({ server }) => {
      const { pods } = server("api-1");
      await pods.create(pod("a", "x"));
      const details = { name: "x", kind: "pods" };
      const missing = { name: "y", kind: "pods" };
      expect(
        await Promise.all([
          refused(pods.create(pod("a", "x"))),
          refused(pods.update("a", "y", (current) => current)),
          refused(pods.delete("a", "y", () => undefined)),
        ]),
      ).toEqual([
        failure(409, "AlreadyExists", 'pods "x" already exists', details),
        failure(404, "NotFound", 'pods "y" not found', missing),
        failure(404, "NotFound", 'pods "y" not found', missing),
      ]);
    }));

  it("does not write what is equal, in whatever order its fields are", () =>
    simulateStores(1, async ({ server, storage }) => {
      const { pods } = server("api-1");
      const created = await pods.create(pod("a", "x"));
      const { metadata, ...rest } = pod("a", "x");
      const reordered = {
        metadata: { labels: { app: "web" }, namespace: "a", name: "x" },
        ...rest,
      };
      expect(reordered.metadata).toEqual(metadata);
      const unchanged = { object: created, written: false };
      expect(await pods.update("a", "x", (current) => current)).toEqual(unchanged);
      expect(await pods.update("a", "x", () => pod("a", "x"))).toEqual(unchanged);
      expect(await pods.update("a", "x", () => reordered)).toEqual(unchanged);
      expect((await storage.get("")).revision).toBe(2);
    }));

  it("tries again on the newer object when another writer was faster", () =>
    simulateStores(1, async ({ server }) => {
      const first = server("api-1").pods;
      const second = server("api-2").pods;
      await first.create(pod("a", "x", { note: "0" }));
      const increment = (store: ResourceStore): Promise<unknown> =>
        store.update("a", "x", (current) => {
          const { note } = current["spec"] as { note: string };
          return pod("a", "x", { note: String(Number(note) + 1) });
        });
      const writers = Array.from({ length: 20 }, (_, n) => increment(n % 2 ? first : second));
      await Promise.all(writers);
      expect((await first.get("a", "x"))?.["spec"]).toEqual({ note: "20" });
    }));

  it("writes nothing when the change or the check throws", () =>
    simulateStores(1, async ({ server, storage }) => {
      const { pods } = server("api-1");
      await pods.create(pod("a", "x"));
      const no = (): never => {
        throw new ApiError(409, "Conflict", "no");
      };
      await expect(pods.update("a", "x", no)).rejects.toThrow("no");
      await expect(pods.delete("a", "x", no)).rejects.toThrow("no");
      expect((await storage.get("")).revision).toBe(2);
    }));
});

describe("listing", () => {
  const now = ["a/1@6", "a/2@3", "a/3@5"];

  it.each<[string, ListRequest, unknown]>([
    ["the present", {}, { items: now, resourceVersion: "8", more: false }],
    ["a namespace", { namespace: "b" }, { items: [], resourceVersion: "8", more: false }],
    [
      "a selection",
      { matches: hasApp("web") },
      { items: ["a/1@6", "a/3@5"], resourceVersion: "8", more: false },
    ],
    [
      "a page, and how many follow",
      { limit: 2 },
      { items: now.slice(0, 2), resourceVersion: "8", more: true, remainingItemCount: 1 },
    ],
    [
      "a page of a selection, and not how many follow",
      { limit: 1, matches: hasApp("web") },
      { items: ["a/1@6"], resourceVersion: "8", more: true },
    ],
    ["a page that is the last", { limit: 3 }, { items: now, resourceVersion: "8", more: false }],
    [
      "whatever is cached, without pages",
      { resourceVersion: "0", limit: 1 },
      { items: now, resourceVersion: "8", more: false },
    ],
    [
      "nothing older than a version",
      { resourceVersion: "5" },
      { items: now, resourceVersion: "8", more: false },
    ],
    [
      "nothing older than a version, in pages",
      { resourceVersion: "5", resourceVersionMatch: "NotOlderThan", limit: 1 },
      { items: ["a/1@6"], resourceVersion: "8", more: true, remainingItemCount: 2 },
    ],
    [
      "exactly a version",
      { resourceVersion: "5", resourceVersionMatch: "Exact" },
      { items: ["a/1@2", "a/2@3", "a/3@5", "b/1@4"], resourceVersion: "5", more: false },
    ],
    [
      "exactly a version, because pages of it were asked for",
      { resourceVersion: "5", limit: 3 },
      {
        items: ["a/1@2", "a/2@3", "a/3@5"],
        resourceVersion: "5",
        more: true,
        remainingItemCount: 1,
      },
    ],
    [
      "a selection of an exact version",
      { resourceVersion: "5", limit: 2, matches: hasApp("web") },
      { items: ["a/1@2", "a/3@5"], resourceVersion: "5", more: true },
    ],
    [
      "nothing for a version nobody has heard of",
      { resourceVersion: "99" },
      "504 Timeout: Too large resource version: 99, current: 8",
    ],
    [
      "nothing for exactly a version nobody has heard of",
      { resourceVersion: "99", resourceVersionMatch: "Exact" },
      "504 Timeout: Too large resource version: 99, current: 8",
    ],
  ])("shows %s", (_, request, answer) =>
    simulateStores(1, async (stores) => {
      const pods = await fill(stores);
      expect(await listed(pods, request)).toEqual(answer);
    }),
  );

  it("waits three seconds for a version and then refuses with a Retry-After", () =>
    simulateStores(1, async (stores) => {
      const pods = await fill(stores);
      const startedAt = stores.simulation.now();
      expect(await refused(pods.list({ resourceVersion: "99" }))).toEqual(
        failure(504, "Timeout", "Timeout: Too large resource version: 99, current: 8", {
          causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
          retryAfterSeconds: 1,
        }),
      );
      expect(stores.simulation.now() - startedAt).toBe(3000);
    }));

  it("goes on as soon as the version it waits for has come", () =>
    simulateStores(1, async (stores) => {
      const pods = await fill(stores);
      stores.simulation.at(1000, () => void stores.writeElsewhere());
      const items = ["a/1@6", "a/2@3", "a/3@5"];
      expect(await listed(pods, { resourceVersion: "9" })).toEqual({
        items,
        resourceVersion: "9",
        more: false,
      });
      expect(stores.simulation.now()).toBe(1000);
    }));

  it("shows one version through all pages, whatever is written between them", () =>
    simulateStores(1, async (stores) => {
      const pods = await fill(stores);
      const first = await pods.list({ limit: 1 });
      await pods.delete("a", "2", () => undefined);
      await pods.create(pod("a", "0"));
      const second = await pods.list({ limit: 1, continueToken: first.continueToken });
      const third = await pods.list({ limit: 1, continueToken: second.continueToken });
      expect([first, second, third].map(shown)).toEqual([
        { items: ["a/1@6"], resourceVersion: "8", more: true, remainingItemCount: 2 },
        { items: ["a/2@3"], resourceVersion: "8", more: true, remainingItemCount: 1 },
        { items: ["a/3@5"], resourceVersion: "8", more: false },
      ]);
    }));

  it("offers the remainder as it is now when the pages have expired", () =>
    simulateStores(1, async (stores) => {
      const pods = await fill(stores);
      const { continueToken } = await pods.list({ limit: 1 });
      await pods.delete("a", "2", () => undefined);
      await stores.simulation.sleep(11 * 60_000);
      const status = await refused(pods.list({ limit: 1, continueToken }));
      expect(status).toMatchObject({
        code: 410,
        reason: "Expired",
        metadata: { continue: expect.any(String) },
      });
      const { metadata } = status as { metadata: { continue: string } };
      expect(await listed(pods, { limit: 1, continueToken: metadata.continue })).toEqual({
        items: ["a/3@5"],
        resourceVersion: "9",
        more: false,
      });
    }));

  it("refuses exactly a version that has been compacted", () =>
    simulateStores(1, async (stores) => {
      const pods = await fill(stores);
      await stores.simulation.sleep(11 * 60_000);
      const request = { resourceVersion: "5", resourceVersionMatch: "Exact" };
      const message = "The resourceVersion for the provided list is too old.";
      expect(await refused(pods.list(request))).toEqual(failure(410, "Expired", message));
    }));

  it("becomes a body made of the items' own bytes", () =>
    simulateStores(1, async (stores) => {
      const pods = await fill(stores);
      const answer = await pods.list({ namespace: "a", limit: 1 });
      const names = { group: "", version: "v1", resource: "pods", kind: "Pod", prefix: "" };
      expect(JSON.parse(Buffer.from(encodeList(names, answer)).toString())).toEqual({
        kind: "PodList",
        apiVersion: "v1",
        metadata: {
          resourceVersion: "8",
          continue: answer.continueToken,
          remainingItemCount: 2,
        },
        items: answer.items.map(({ object }) => {
          const { kind: _, apiVersion: __, ...item } = object;
          return item;
        }),
      });
    }));
});

describe("a server whose cache lags", () => {
  it("shows old state on resourceVersion 0 and the current state otherwise", () =>
    simulateStores(1, async (stores) => {
      const { pods, faults, metrics } = stores.server("api-1");
      await pods.create(pod("a", "1"));
      await stores.settle();
      faults.cacheLagMs = Number.POSITIVE_INFINITY;
      await pods.create(pod("a", "2"));
      await stores.settle();
      const old = { items: ["a/1@2"], resourceVersion: "2", more: false };
      const present = { items: ["a/1@2", "a/2@3"], resourceVersion: "3", more: false };
      expect(await listed(pods, { resourceVersion: "0" })).toEqual(old);
      expect(await pods.getCached("a", "2", "0")).toBeUndefined();
      expect(await listed(pods, { resourceVersion: "3" })).toBe(
        "504 Timeout: Too large resource version: 3, current: 2",
      );
      expect(await listed(pods)).toEqual(present);
      expect(await pods.get("a", "2")).toEqual(withVersion(pod("a", "2"), "3"));
      const reads = metrics.getSingleMetric("apiserver_watch_cache_consistent_read_total");
      expect((await reads?.get())?.values).toEqual([
        { labels: { group: "", resource: "pods", success: "true", fallback: "true" }, value: 1 },
      ]);
      faults.cacheLagMs = 0;
      expect(await listed(pods, { resourceVersion: "0" })).toEqual(present);
      expect(await pods.getCached("a", "2", "3")).toEqual(withVersion(pod("a", "2"), "3"));
    }));

  it("learns of each change when the lag has passed, and at once when the lag is taken away", () =>
    simulateStores(1, async (stores) => {
      const { pods, faults } = stores.server("api-1");
      await stores.settle();
      faults.cacheLagMs = 5000;
      await pods.create(pod("a", "1"));
      await stores.simulation.sleep(2000);
      await pods.create(pod("a", "2"));
      const cached = (): Promise<unknown> => listed(pods, { resourceVersion: "0" });
      await stores.simulation.sleep(2999);
      expect(await cached()).toEqual({ items: [], resourceVersion: "1", more: false });
      await stores.simulation.sleep(1);
      expect(await cached()).toEqual({ items: ["a/1@2"], resourceVersion: "2", more: false });
      faults.cacheLagMs = 0;
      const both = { items: ["a/1@2", "a/2@3"], resourceVersion: "3", more: false };
      expect(await cached()).toEqual(both);
    }));
});

describe("a server that loses its watch of the storage", () => {
  it("ends its watches, lists again and goes on", () =>
    simulateStores(1, async (stores) => {
      const { simulation, settle, server } = stores;
      const writer = server("api-1").pods;
      const losing = new LosingStorage(stores.storage);
      const { pods } = openServer(simulation, losing, "api-2");
      await writer.create(pod("a", "1"));
      await settle();
      const watch = new WatchRecording(pods);
      await settle();
      losing.failLists = true;
      losing.loseWatches();
      await watch.done;
      expect([watch.ending, watch.summary]).toEqual(["end", ["ADDED a/1@2"]]);
      await writer.create(pod("a", "2"));
      expect(await listed(pods)).toBe("429 storage is (re)initializing");
      losing.failLists = false;
      const both = { items: ["a/1@2", "a/2@3"], resourceVersion: "3", more: false };
      expect(await listed(pods, { resourceVersion: "0" })).toEqual(both);
      const resumed = new WatchRecording(pods, { resourceVersion: "2" });
      await resumed.done;
      expect(resumed.summary).toEqual(["ERROR 410 too old resource version: 2 (3)"]);
    }));
});

it("a get of a cached object refuses a version that is no number", () =>
  simulateStores(1, async ({ server }) => {
    const problem =
      'resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax';
    expect(await refused(server("api-1").pods.getCached("a", "1", "x"))).toEqual(
      failure(500, "", problem),
    );
  }));

/** A storage whose connection breaks when told. */
class LosingStorage implements Storage {
  failLists = false;
  readonly #storage: Storage;
  readonly #lose = new Set<() => void>();

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  get: Storage["get"] = (key) => this.#storage.get(key);
  put: Storage["put"] = (...args) => this.#storage.put(...args);
  delete: Storage["delete"] = (...args) => this.#storage.delete(...args);

  list: Storage["list"] = async (...args) => {
    if (this.failLists) throw new Error("no connection");
    return this.#storage.list(...args);
  };

  watch: Storage["watch"] = (prefix, from, handlers) => {
    const watch = this.#storage.watch(prefix, from, handlers);
    this.#lose.add(() => {
      watch.stop();
      handlers.onLost(new Error("the connection broke"));
    });
    return watch;
  };

  loseWatches(): void {
    for (const lose of this.#lose) lose();
    this.#lose.clear();
  }
}

function withVersion(object: ReturnType<typeof pod>, resourceVersion: string): unknown {
  return { ...object, metadata: { ...object.metadata, resourceVersion } };
}

function failure(code: number, reason: string, message: string, details?: object): unknown {
  const base = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure" };
  const said = { ...base, code, message, ...(reason === "" ? {} : { reason }) };
  return { ...said, ...(details === undefined ? {} : { details }) };
}
