// Contract of the control socket, for nginx and the twin. A route to a service without endpoints
// answers 503, and a missing route 404, so a request shows which state is visible.
import { expect, it } from "vitest";
import { ControlError } from "./control-answer.ts";
import type { ControlClient, Pusher } from "./control-client.ts";
import { slotCount } from "./slot-table.ts";

export interface ControlWorld {
  readonly control: ControlClient;
  /** Status of a request for this host through the proxy. */
  readonly status: (host: string) => Promise<number>;
  /** An address and port at which connections are refused. */
  readonly closed: { readonly address: string; readonly port: number };
}

/** Runs one test body with a proxy that was just started, and cleans up. */
export type RunInControlWorld = (test: (world: ControlWorld) => Promise<void>) => Promise<void>;

const emptyService = { tiers: [], addresses: [], ports: [], slots: [], names: [] };

export function controlContract(run: RunInControlWorld): void {
  it("lets a request that comes before the first load wait for it", () =>
    run(async ({ control, status }) => {
      const early = status("nowhere");
      await loaded(control, 1, "a");
      expect(await early).toBe(404);
    }));

  it("has nothing loaded at first: requests wait in vain and get 503, changes are refused", () =>
    run(async ({ control, status }) => {
      const { bootId, ...rest } = await control.state();
      expect(bootId).not.toBe("");
      expect(rest).toMatchObject({ generation: 0, version: 0, epoch: 0, owner: "" });
      expect(await status("a")).toBe(503);
      const pusher = await takeCharge(control, 1);
      expect(await codeOf(control.change(pusher, batchOf("a")))).toBe("LOAD");
    }));

  it("shows a load as a whole at its commit, and removes what it does not hold", () =>
    run(async ({ control, status }) => {
      const pusher = await pusherOf(control, 1);
      const first = await control.beginLoad(pusher);
      await control.loadPart(pusher, first, batchOf("a"));
      await control.loadPart(pusher, first, batchOf("b"));
      expect(await Promise.all([status("a"), status("c")])).toEqual([503, 503]);
      await control.commitLoad(pusher, first);
      expect([await status("a"), await status("b"), await status("c")]).toEqual([503, 503, 404]);
      const second = await control.beginLoad(pusher);
      await control.loadPart(pusher, second, batchOf("c"));
      expect([await status("a"), await status("c")]).toEqual([503, 404]);
      await control.commitLoad(pusher, second);
      expect([await status("a"), await status("b"), await status("c")]).toEqual([404, 404, 503]);
      expect(await control.state()).toMatchObject({ generation: 2, epoch: 1, owner: "owner-1" });
    }));

  it("shows changes at once, and removes by null", () =>
    run(async ({ control, status }) => {
      const pusher = await loaded(control, 1, "a");
      await control.change(pusher, batchOf("b"));
      expect([await status("a"), await status("b")]).toEqual([503, 503]);
      await control.change(pusher, '{"hosts":{"a":null}}');
      expect([await status("a"), await status("b")]).toEqual([404, 503]);
    }));

  it("gives a host the rules of another by its name, whatever becomes of that one", () =>
    run(async ({ control, status }) => {
      const pusher = await loaded(control, 1, "a");
      const tell = (hosts: object) => control.change(pusher, JSON.stringify({ hosts }));
      await tell({ b: "a", c: "none", d: "b" });
      expect([await status("b"), await status("c"), await status("d")]).toEqual([503, 404, 404]);
      await tell({ a: [], none: rulesTo("a") });
      expect([await status("b"), await status("c")]).toEqual([404, 503]);
      await tell({ b: rulesTo("a") });
      expect([await status("a"), await status("b")]).toEqual([404, 503]);
    }));

  it("closes what was left out, and a rule whose policy is not there", () =>
    run(async ({ control, status, closed }) => {
      const pusher = await loaded(control, 1, "a", serviceAt(closed, 1));
      const tell = (body: object) => control.change(pusher, JSON.stringify(body));
      await tell({ hosts: { b: false, c: [{ ...rulesTo("a")[0], policy: "n/key" }], d: "c" } });
      const all = async () => [
        await status("a"),
        await status("b"),
        await status("c"),
        await status("d"),
      ];
      expect(await all()).toEqual([502, 503, 503, 503]);
      await tell({ policies: { "n/key": { tries: 1 } } });
      expect(await all()).toEqual([502, 503, 502, 502]);
    }));

  it("refuses what was made for another boot id", () =>
    run(async ({ control, status }) => {
      const pusher = await loaded(control, 1, "a");
      const other = { ...pusher, bootId: "another" };
      expect(await codeOf(control.change(other, batchOf("b")))).toBe("BOOT");
      expect(await codeOf(control.beginLoad({ ...other, epoch: 9 }))).toBe("BOOT");
      expect(await status("b")).toBe(404);
    }));

  it("refuses an older pusher, another of the same epoch, and a newer one that has not loaded", () =>
    run(async ({ control, status }) => {
      const older = await loaded(control, 1, "a");
      const newer = await loaded(control, 2, "b");
      const twin = { ...newer, owner: "another" };
      const newest = { ...newer, epoch: 3 };
      expect([
        await codeOf(control.change(older, batchOf("c"))),
        await codeOf(control.beginLoad(older)),
        await codeOf(control.change(twin, batchOf("c"))),
        await codeOf(control.beginLoad(twin)),
        await codeOf(control.change(newest, batchOf("c"))),
      ]).toEqual(["EPOCH", "EPOCH", "EPOCH", "EPOCH", "EPOCH"]);
      expect([await status("a"), await status("b"), await status("c")]).toEqual([404, 503, 404]);
    }));

  it("refuses parts and the commit of a load when another has begun since", () =>
    run(async ({ control }) => {
      const pusher = await pusherOf(control, 1);
      const first = await control.beginLoad(pusher);
      await control.beginLoad(pusher);
      expect([
        await codeOf(control.loadPart(pusher, first, batchOf("a"))),
        await codeOf(control.commitLoad(pusher, first)),
      ]).toEqual(["LOAD", "LOAD"]);
      expect((await control.state()).generation).toBe(0);
    }));

  it("refuses parts of a load that is complete", () =>
    run(async ({ control, status }) => {
      const pusher = await loaded(control, 1, "a");
      const { generation } = await control.state();
      expect(await codeOf(control.loadPart(pusher, generation, batchOf("b")))).toBe("LOAD");
      expect(await status("b")).toBe(404);
    }));

  it("tells of an endpoint that refuses as soon as it did, and whose slots they are", () =>
    run(async ({ control, status, closed }) => {
      await loaded(control, 1, "a", serviceAt(closed, 7));
      const { changes, ...quiet } = await control.suspects(undefined);
      expect(quiet).toEqual({ owner: "owner-1", suspects: [] });
      const news = control.suspects(changes);
      expect(await status("a")).toBe(502);
      expect(await news).toEqual({
        owner: "owner-1",
        changes: changes + 1,
        suspects: [{ slot: 7, ageMs: expect.any(Number) }],
      });
    }));

  it("tells of no endpoint without a slot of its own, and forgets all for another pusher", () =>
    run(async ({ control, status, closed }) => {
      await loaded(control, 1, "a", serviceAt(closed, 0));
      expect(await status("a")).toBe(502);
      expect((await control.suspects(undefined)).suspects).toEqual([]);
      await loaded(control, 2, "a", serviceAt(closed, 7));
      expect(await status("a")).toBe(502);
      const { changes, suspects } = await until(
        () => control.suspects(undefined),
        (report) => report.suspects.length > 0,
      );
      expect(suspects.map(({ slot }) => slot)).toEqual([7]);
      await loaded(control, 3, "a");
      expect(await control.suspects(changes)).toMatchObject({ owner: "owner-3", suspects: [] });
    }));

  it("counts what endpoints did, and tells of those that were used since", () =>
    run(async ({ control, status, closed }) => {
      await loaded(control, 1, "a", serviceAt(closed, 7));
      expect((await control.counters()).counters).toEqual([]);
      await status("a");
      await status("a");
      const { owner, nowMs, counters } = await until(
        () => control.counters(),
        (report) => report.counters[0]?.failures === 2,
      );
      expect([owner, counters]).toEqual([
        "owner-1",
        [{ slot: 7, requests: 2, failures: 2, lastUsedMsAgo: expect.any(Number), suspect: true }],
      ]);
      expect((await control.counters(nowMs + 60_000)).counters).toEqual([]);
    }));

  it("starts from zero with an endpoint that got the slot of another", () =>
    run(async ({ control, status, closed }) => {
      const pusher = await loaded(control, 1, "a", serviceAt(closed, 7));
      await status("a");
      const suspectSlot = (slot: number) =>
        until(
          () => control.suspects(undefined),
          (report) => report.suspects.some((one) => one.slot === slot),
        );
      // A failure is noted after the client was answered.
      await suspectSlot(7);
      const another = 7 + slotCount;
      await control.change(pusher, batchOf("a", serviceAt(closed, another)));
      const before = (await control.suspects(undefined)).suspects;
      await status("a");
      const { counters } = await control.counters();
      const { suspects } = await suspectSlot(another);
      expect(before.filter(({ slot }) => slot === another)).toEqual([]);
      expect(suspects.map(({ slot }) => slot)).toContain(another);
      expect(counters.find(({ slot }) => slot === another)).toMatchObject({ requests: 1 });
    }));

  it("has no suspect any more that answered a probe, unless it fails again", () =>
    run(async ({ control, status, closed }) => {
      const pusher = await loaded(control, 1, "a", serviceAt(closed, 7));
      const suspectSlots = async () => {
        const { suspects } = await control.suspects(undefined);
        return suspects.map(({ slot }) => slot);
      };
      const isSuspect = () => until(suspectSlots, (slots) => slots.includes(7));
      await status("a");
      await isSuspect();
      // Of the endpoint that will have the slot after this one.
      await control.answered(pusher, [7 + slotCount]);
      expect(await suspectSlots()).toEqual([7]);
      await control.answered(pusher, [7]);
      expect(await suspectSlots()).toEqual([]);
      await status("a");
      await isSuspect();
      const other = { ...pusher, owner: "another" };
      expect(await codeOf(control.answered(other, [7]))).toBe("EPOCH");
      expect(await codeOf(control.answered(pusher, [-1]))).toBe("MALFORMED");
      expect(await suspectSlots()).toEqual([7]);
    }));

  it("refuses what is malformed, and takes nothing of that part", () =>
    run(async ({ control, status }) => {
      const pusher = await loaded(control, 1, "a");
      for (const [what, body] of malformed) {
        expect([what, await codeOf(control.change(pusher, body))]).toEqual([what, "MALFORMED"]);
        expect([await status("a"), await status("good")]).toEqual([503, 404]);
      }
    }));
}

const malformed: readonly (readonly [what: string, body: string])[] = [
  ["no JSON", "{"],
  ["no object", '"text"'],
  ["a path without a slash", hostWith({ path: "x", type: "Prefix", service: "s" })],
  ["a rule of a type that is not known", hostWith({ path: "/", type: "Other", service: "s" })],
  ["a rule without a service", hostWith({ path: "/", type: "Exact" })],
  ["an expression that is none", hostWith({ path: "/(", type: "Regex", service: "s" })],
  [
    "a rule whose policy has no name",
    hostWith({ path: "/", type: "Exact", service: "s", policy: 7 }),
  ],
  ["a policy that is none", '{"policies":{"a/b":7}}'],
  ["a port out of range", serviceWith({ ports: [0] })],
  ["a service without addresses", '{"services":{"s":{"tiers":[]}}}'],
  ["tiers that leave out an endpoint", serviceWith({ tiers: [0] })],
  ["half an endpoint in a tier", serviceWith({ tiers: [0.5, 0.5] })],
  ["an endpoint without a name", serviceWith({ names: [] })],
  ["a weight below nothing", serviceWith({ weights: [-1] })],
];

async function pusherOf(control: ControlClient, epoch: number): Promise<Pusher> {
  const { bootId } = await control.state();
  return { bootId, epoch, owner: `owner-${epoch}` };
}

async function takeCharge(control: ControlClient, epoch: number): Promise<Pusher> {
  const pusher = await pusherOf(control, epoch);
  await control.beginLoad(pusher);
  return pusher;
}

async function loaded(
  control: ControlClient,
  epoch: number,
  host: string,
  service: object = emptyService,
): Promise<Pusher> {
  const pusher = await pusherOf(control, epoch);
  const generation = await control.beginLoad(pusher);
  await control.loadPart(pusher, generation, batchOf(host, service));
  await control.commitLoad(pusher, generation);
  return pusher;
}

/** More than are answered while a worker waits for its turn on a busy machine. */
const mostReads = 20_000;

/** A worker takes note of a failed request after it was answered, and another may be asked. */
async function until<T>(read: () => Promise<T>, isSo: (value: T) => boolean): Promise<T> {
  let value = await read();
  for (let reads = 1; reads < mostReads && !isSo(value); reads += 1) value = await read();
  return value;
}

function rulesTo(service: string): readonly object[] {
  return [{ path: "/", type: "Prefix", service }];
}

/** A host and a service of the same name, without endpoints unless they are given. */
function batchOf(name: string, service: object = emptyService): string {
  return JSON.stringify({ hosts: { [name]: rulesTo(name) }, services: { [name]: service } });
}

function serviceAt({ address, port }: ControlWorld["closed"], slot: number): object {
  return {
    tiers: [1],
    addresses: [address],
    ports: [port],
    slots: [slot],
    names: [`c1/${address}`],
  };
}

/** Beside something that is fine by itself. */
function hostWith(rule: object): string {
  const good = [{ path: "/", type: "Prefix", service: "good" }];
  return JSON.stringify({ hosts: { bad: [rule], good }, services: { good: emptyService } });
}

function serviceWith(service: object): string {
  const good = [{ path: "/", type: "Prefix", service: "good" }];
  const services = {
    good: emptyService,
    bad: { ...serviceAt({ address: "10.0.0.1", port: 80 }, 1), ...service },
  };
  return JSON.stringify({ hosts: { good }, services });
}

async function codeOf(attempt: Promise<unknown>): Promise<string> {
  const error = await attempt.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return error instanceof ControlError ? error.code : String(error);
}
