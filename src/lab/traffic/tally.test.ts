import { expect, it } from "vitest";
import type { MonotonicMs } from "../../environment/clock.ts";
import { Ledger } from "../kubelet/ledger.ts";
import { readAccessLog } from "./access-log.ts";
import { emptyTally, tallyOf } from "./tally.ts";
import type { TrafficOutcome, TrafficResult } from "./traffic-result.ts";

/** `alive` lives from 0 on; `gone` lived from 0 to 10,000; `back` as well, and from 12,000 on. */
function lives(): Ledger {
  let now = 0;
  const clock = { monotonicMs: () => now as MonotonicMs, wallMs: () => fail() };
  const ledger = new Ledger({ clock });
  for (const name of ["alive", "gone", "back"]) ledger.began(addresses[name] ?? "", name);
  now = 10_000;
  for (const name of ["gone", "back"]) ledger.ended(addresses[name] ?? "");
  now = 12_000;
  ledger.began(addresses["back"] ?? "", "back-2");
  return ledger;
}

function fail(): never {
  throw new Error("the ledger has one clock");
}

const addresses: Readonly<Record<string, string>> = {
  alive: "10.0.0.1",
  gone: "10.0.0.2",
  back: "10.0.0.3",
};

function result(
  sentMs: number,
  tried: readonly string[],
  outcome: TrafficOutcome,
  lastedMs = 10,
): TrafficResult {
  return {
    number: sentMs,
    entry: "stock",
    host: "a.example",
    target: `/?request=${sentMs}`,
    sentAt: sentMs as MonotonicMs,
    doneAt: (sentMs + lastedMs) as MonotonicMs,
    outcome,
    pod: undefined,
    replica: undefined,
    upstreams: tried.map((name) => addresses[name] ?? name),
  };
}

const ok: TrafficOutcome = { kind: "answered", status: 200 };
const notFound: TrafficOutcome = { kind: "answered", status: 404 };
const badGateway: TrafficOutcome = { kind: "answered", status: 502 };
const late: TrafficOutcome = { kind: "failed", code: "DEADLINE" };

it("counts nothing of nothing", () => {
  expect(tallyOf([], { lives: lives() })).toEqual(emptyTally);
});

it("counts what was lost and what was sent to the dead over the same requests", () => {
  const results = [
    result(9_000, ["gone"], ok),
    result(11_000, ["gone", "alive"], ok),
    result(13_500, ["gone", "gone", "gone"], badGateway),
    result(14_000, ["alive"], notFound),
    result(15_000, ["alive"], late),
    result(16_000, [], { kind: "answered", status: 503 }),
  ];
  expect(tallyOf(results, { lives: lives() })).toEqual({
    requests: 6,
    served: 3,
    lost: 3,
    lostBy: { "502": 1, DEADLINE: 1, "503": 1 },
    sentToDead: 2,
    deadTries: 4,
    longestDeadMs: 3_500,
  });
});

it.each([
  ["dies while the request is under way", 9_995, 10, 0],
  ["lives again before the request is over", 11_000, 5_000, 0],
  ["is dead from the beginning to the end", 11_000, 500, 1],
])("blames the proxy only for an endpoint that %s: %i", (_, sentMs, lastedMs, sentToDead) => {
  const results = [result(sentMs, ["back"], badGateway, lastedMs)];
  expect(tallyOf(results, { lives: lives() }).sentToDead).toBe(sentToDead);
});

it("takes an address that no pod ever had for a dead one", () => {
  const tally = tallyOf([result(1, ["10.9.9.9"], badGateway)], { lives: lives() });
  expect([tally.sentToDead, tally.longestDeadMs]).toEqual([1, 0]);
});

it("takes the pod that answered when the proxy does not report its tries", () => {
  const pod = { podUid: "gone", address: "10.0.0.2" };
  const tally = tallyOf([{ ...result(11_000, [], ok), pod }], { lives: lives() });
  expect(tally.sentToDead).toBe(1);
});

it("learns the tries from an access log, half a line at the end or not", () => {
  const log = readAccessLog(
    [
      '{"target":"/?request=11000","status":502,"upstream":"10.0.0.2:8080, 10.0.0.1:8080"}',
      '{"target":"/?request=14000","status":503,"upstream":"upstream_balancer"}',
      "not json",
      '{"target":"/?request=15000","upstr',
    ].join("\n"),
  );
  expect([...log]).toEqual([
    ["/?request=11000", ["10.0.0.2", "10.0.0.1"]],
    ["/?request=14000", []],
  ]);
  const tally = tallyOf([result(11_000, [], badGateway), result(15_000, ["gone"], late)], {
    lives: lives(),
    upstreamsOf: ({ target }) => log.get(target),
  });
  expect([tally.sentToDead, tally.deadTries]).toEqual([2, 2]);
});
