import { expect, it } from "vitest";
import type { MonotonicMs, WallMs } from "../../environment/clock.ts";
import { Ledger } from "./ledger.ts";

const at = (ms: number): MonotonicMs => ms as MonotonicMs;

function ledgerAt() {
  let now = 0;
  const clock = { monotonicMs: () => at(now), wallMs: () => now as WallMs };
  const ledger = new Ledger({ clock });
  return {
    ledger,
    when: (ms: number, act: () => void) => {
      now = ms;
      act();
    },
  };
}

it("knows who listened on an address at any instant", () => {
  const { ledger, when } = ledgerAt();
  when(100, () => ledger.began("127.9.0.1", "a"));
  when(200, () => ledger.ended("127.9.0.1", "a"));
  when(300, () => ledger.began("127.9.0.1", "b"));
  const dead = { state: "dead" };
  expect([99, 100, 199, 200, 299, 300, 5_000].map((ms) => ledger.at("127.9.0.1", at(ms)))).toEqual([
    { ...dead, lastPodUid: undefined, since: undefined },
    { state: "alive", podUid: "a", since: 100 },
    { state: "alive", podUid: "a", since: 100 },
    { ...dead, lastPodUid: "a", since: 200 },
    { ...dead, lastPodUid: "a", since: 200 },
    { state: "alive", podUid: "b", since: 300 },
    { state: "alive", podUid: "b", since: 300 },
  ]);
  expect([150, 250, 350].map((ms) => ledger.ownerAt("127.9.0.1", at(ms)))).toEqual([
    "a",
    undefined,
    "b",
  ]);
  expect([150, 250, 350].map((ms) => ledger.aliveAt("127.9.0.1", at(ms)))).toEqual([
    true,
    false,
    true,
  ]);
});

it("calls an unknown address dead", () => {
  const { ledger } = ledgerAt();
  expect(ledger.aliveAt("127.9.0.1", at(0))).toBe(false);
});

it("does not let a pod that left end the time of its successor", () => {
  const { ledger, when } = ledgerAt();
  when(100, () => ledger.began("127.9.0.1", "a"));
  when(200, () => ledger.began("127.9.0.1", "b"));
  when(300, () => ledger.ended("127.9.0.1", "a"));
  expect(ledger.spells("127.9.0.1")).toEqual([
    { podUid: "a", since: 100, until: 200 },
    { podUid: "b", since: 200, until: undefined },
  ]);
});

it("forgets the oldest of very many", () => {
  const { ledger, when } = ledgerAt();
  for (let run = 0; run < 1_001; run += 1) {
    when(run, () => ledger.began("127.9.0.1", `${run}`));
  }
  expect(ledger.spells("127.9.0.1").length).toBe(1_000);
  for (let address = 0; address < 65_536; address += 1) {
    when(2_000, () => ledger.began(`other-${address}`, "x"));
  }
  expect(ledger.spells("127.9.0.1")).toEqual([]);
  expect(ledger.spells("other-0").length).toBe(1);
});
