import { expect, test } from "vitest";
import type { EndpointState } from "../decide/decision.ts";
import type { ServiceTruth } from "../decide/truth/truth.ts";
import type { MonotonicMs, WallMs } from "../environment/clock.ts";
import { maxEntriesKept, maxNamesKept, type RoutedEntry, RoutedJournal } from "./routed-journal.ts";

const service = "shop/web:80";

function journalWorld() {
  let nowMs = 0;
  const routed: RoutedEntry[] = [];
  const journal = new RoutedJournal({
    clock: { monotonicMs: () => nowMs as MonotonicMs, wallMs: () => (nowMs + 1_000) as WallMs },
    onRouted: (entry) => void routed.push(entry),
  });
  const at = (ms: number) => {
    nowMs = ms;
    return ms as MonotonicMs;
  };
  return { journal, routed, at };
}

function truthOf(states: Readonly<Record<string, EndpointState>>): ServiceTruth {
  const endpoints = Object.entries(states).map(([address, state]) => ({
    address,
    port: 8080,
    cluster: "east",
    podUid: `uid-${address}`,
    state,
    reason: "for the test",
    rule: "test",
    pod: "ready" as const,
    published: "ready" as const,
  }));
  return { endpoints, problems: [], probeRequests: [] };
}

const name = (address: string) => ({
  cluster: "east",
  address,
  port: 8080,
  podUid: `uid-${address}`,
});

test("a change is written down when the proxy routes by it, with its lag", () => {
  const { journal, routed, at } = journalWorld();
  const [before, after] = [truthOf({ a: "active" }), truthOf({ a: "draining", b: "active" })];
  at(10);
  journal.decided({ service, version: 1, before, after });
  expect(journal.after(0)).toEqual([]);
  journal.routed(service, 1, at(14));
  const entry = {
    sequence: 1,
    service,
    version: 1,
    joined: [name("b")],
    left: [name("a")],
    decidedWallMs: 1_010,
    routedWallMs: 1_014,
    routedAtMs: 14,
    lagMs: 4,
  };
  expect([journal.after(0), journal.after(1), routed]).toEqual([[entry], [], [entry]]);
});

test("a version that the proxy skipped is routed with the one that came after it", () => {
  const { journal, at } = journalWorld();
  const [a, ab, b] = [
    truthOf({ a: "active" }),
    truthOf({ a: "active", b: "active" }),
    truthOf({ b: "active" }),
  ];
  journal.decided({ service, version: 1, before: a, after: ab });
  journal.decided({ service, version: 2, before: ab, after: b });
  journal.decided({ service, version: 3, before: b, after: undefined });
  journal.routed(service, 2, at(5));
  expect(journal.after(0).map(({ version, joined, left }) => [version, joined, left])).toEqual([
    [1, [name("b")], []],
    [2, [], [name("a")]],
  ]);
  journal.routed(service, 3, at(6));
  expect(journal.after(2).map(({ left }) => left)).toEqual([[name("b")]]);
});

test("a decision that changes no active endpoint is no change", () => {
  const { journal, at } = journalWorld();
  const before = truthOf({ a: "active", b: "draining" });
  journal.decided({ service, version: 1, before, after: truthOf({ a: "active", b: "out" }) });
  journal.routed(service, 1, at(1));
  expect(journal.after(0)).toEqual([]);
});

test("whether a route leads to a port is recorded also without endpoints", () => {
  const { journal, at } = journalWorld();
  const [on, off] = [truthOf({ a: "active" }), truthOf({ a: "out" })];
  journal.decided({ service, version: 1, before: undefined, after: off });
  journal.decided({ service, version: 1, before: off, after: undefined });
  journal.decided({ service, version: 2, before: undefined, after: on });
  journal.decided({ service, version: 3, before: on, after: off });
  journal.decided({ service, version: 4, before: off, after: on });
  journal.decided({ service, version: 4, before: on, after: undefined });
  journal.routed(service, 4, at(1));
  expect(journal.after(0).map(({ joined, left, unrouted }) => [joined, left, unrouted])).toEqual([
    [[], [], undefined],
    [[], [], true],
    [[name("a")], [], undefined],
    [[], [name("a")], undefined],
    [[name("a")], [], undefined],
    [[], [name("a")], true],
  ]);
});

test("only the newest entries are kept, and their numbers go on rising", () => {
  const { journal, at } = journalWorld();
  const [on, off] = [truthOf({ a: "active" }), truthOf({ a: "out" })];
  for (let version = 1; version <= maxEntriesKept + 1; version += 1) {
    const [before, after] = version % 2 === 1 ? [off, on] : [on, off];
    journal.decided({ service, version, before, after });
    journal.routed(service, version, at(version));
  }
  const kept = journal.after(0);
  expect([kept.length, kept[0]?.sequence, kept.at(-1)?.sequence]).toEqual([
    maxEntriesKept,
    2,
    maxEntriesKept + 1,
  ]);
});

/** A service of so many endpoints, that all come and go. */
function crowdOf(count: number): ServiceTruth {
  return truthOf(Object.fromEntries(Array.from({ length: count }, (_, n) => [`a${n}`, "active"])));
}

test("entries with thousands of endpoints are fewer, and the newest is kept whole", () => {
  const { journal, at } = journalWorld();
  const [none, crowd] = [truthOf({}), crowdOf(maxNamesKept / 4)];
  for (let version = 1; version <= 10; version += 1) {
    const [before, after] = version % 2 === 1 ? [none, crowd] : [crowd, none];
    journal.decided({ service, version, before, after });
    journal.routed(service, version, at(version));
  }
  expect(journal.after(0).map(({ sequence }) => sequence)).toEqual([7, 8, 9, 10]);
  const all = crowdOf(maxNamesKept + 1);
  journal.decided({ service, version: 11, before: none, after: all });
  journal.routed(service, 11, at(11));
  expect(journal.after(0).map(({ joined }) => joined.length)).toEqual([maxNamesKept + 1]);
});

test("while the proxy is away, thousands of endpoints that come and go are not kept for it", () => {
  const { journal, at } = journalWorld();
  const [none, crowd] = [truthOf({}), crowdOf(maxNamesKept / 4)];
  for (let version = 1; version <= 10; version += 1) {
    const [before, after] = version % 2 === 1 ? [none, crowd] : [crowd, none];
    journal.decided({ service, version, before, after });
  }
  journal.routed(service, 10, at(10));
  expect(journal.after(0).map(({ version }) => version)).toEqual([1, 2, 3, 4]);
  journal.decided({ service, version: 11, before: none, after: crowd });
  journal.routed(service, 11, at(11));
  expect(journal.after(4).map(({ version }) => version)).toEqual([11]);
});

test("another process gets the journal's position and the time there", () => {
  const { journal, at } = journalWorld();
  at(10);
  const [before, after] = [truthOf({ a: "active" }), truthOf({ a: "draining" })];
  journal.decided({ service, version: 1, before, after });
  journal.routed(service, 1, at(14));
  at(20);
  expect(journal.answer(0)).toEqual({
    journal: "1000-0",
    last: 1,
    nowMs: 20,
    entries: journal.after(0),
  });
  expect(journal.answer(1).entries).toEqual([]);
});
