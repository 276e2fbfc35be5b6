// Every way from one state to the next, as a table.
import { describe, expect, test } from "vitest";
import { NetworkError } from "../../environment/network.ts";
import { DeadlineExceededError, StatusError } from "../client/client.ts";
import {
  afterListFailure,
  afterWatchEnd,
  failuresBeforeRelist,
  listing,
  maxRetryAfterMs,
  type WatchEnd,
  watchingAfterList,
} from "./reflector-state.ts";
import { StalledListError } from "./reflector-stream.ts";
import { WatchDecodeError } from "./watch-decoder.ts";

const policy = { backoffMs: () => 800, refusal: () => ({ delayMs: 30_000, mayPass: false }) };
const patient = { backoffMs: () => 800, refusal: () => ({ delayMs: 900, mayPass: true }) };
const status = (code: number, fields: { retryAfterMs?: number; causes?: string[] } = {}) =>
  new StatusError({ code, reason: "", message: `status ${code}`, ...fields });
const tooLarge = status(504, { causes: ["ResourceVersionTooLarge"] });
const reset = new NetworkError("RESET", "the connection broke");
const unreachable = new NetworkError("REFUSED", "nobody is there");
const stalled = new StalledListError("stalled");
const unauthorized =
  "status 401: the API server does not accept these credentials; they may have expired";
const failed = (error: unknown): WatchEnd => ({ type: "failed", error });
const waiting = (delayMs: number, type: string, message: string, next: object) => ({
  name: "waiting",
  delayMs,
  because: { type, message },
  next,
});

describe("after a list that failed", () => {
  const atVersion = listing("expired", { notOlderThan: "7" });
  const newest = listing("expired");
  const pages = listing("expired", { way: "pages" });
  const whole = listing("expired", { way: "whole" });
  test.each([
    [atVersion, status(410), newest],
    [newest, status(410), waiting(800, "retrying", "status 410", pages)],
    [pages, status(410), waiting(800, "retrying", "status 410", whole)],
    [whole, status(410), waiting(800, "retrying", "status 410", whole)],
    [newest, tooLarge, waiting(1_000, "retrying", "status 504", pages)],
    [pages, tooLarge, waiting(1_000, "retrying", "status 504", whole)],
    [newest, stalled, waiting(800, "retrying", "stalled", pages)],
    [atVersion, stalled, waiting(800, "retrying", "stalled", { ...atVersion, way: "pages" })],
    [newest, new WatchDecodeError("odd"), waiting(800, "retrying", "odd", pages)],
    [newest, status(500), waiting(800, "retrying", "status 500", pages)],
    [pages, status(500), waiting(800, "retrying", "status 500", pages)],
    [newest, unreachable, waiting(800, "retrying", "nobody is there", newest)],
    [atVersion, tooLarge, waiting(1_000, "retrying", "status 504", newest)],
    [atVersion, status(429), waiting(800, "throttled", "status 429", atVersion)],
    [
      newest,
      status(429, { retryAfterMs: 9_000 }),
      waiting(9_000, "throttled", "status 429", newest),
    ],
    [
      newest,
      status(429, { retryAfterMs: 1e12 }),
      waiting(maxRetryAfterMs, "throttled", "status 429", newest),
    ],
    [newest, status(403), waiting(30_000, "refused", "status 403", newest)],
    [newest, status(404), waiting(30_000, "refused", "status 404", newest)],
    [pages, status(401), waiting(800, "retrying", unauthorized, pages)],
    [atVersion, unreachable, waiting(800, "retrying", "nobody is there", atVersion)],
  ])("%j and %s", (state, error, next) => {
    expect(afterListFailure(state, error, policy)).toEqual(next);
  });
});

describe("after a refusal that may pass", () => {
  const reached = { resourceVersion: "7", lastedMs: 0 };
  const forbidden = status(403);

  test("what was never allowed is called refused, and tried again soon", () => {
    const listed = listing("initial");
    expect(afterListFailure(listed, forbidden, patient)).toEqual(
      waiting(900, "refused", "status 403", listed),
    );
    const watched = watchingAfterList("7");
    expect(afterWatchEnd(watched, failed(forbidden), reached, patient)).toEqual(
      waiting(900, "refused", "status 403", { ...watched, failures: 1 }),
    );
  });

  test("what was allowed until then is only tried again soon", () => {
    const listed = listing("expired");
    expect(afterListFailure(listed, forbidden, patient)).toEqual(
      waiting(900, "retrying", "status 403", listed),
    );
    const watched = { ...watchingAfterList("7"), settled: true };
    expect(afterWatchEnd(watched, failed(forbidden), reached, patient)).toEqual(
      waiting(900, "retrying", "status 403", { ...watched, failures: 1 }),
    );
  });
});

describe("after a watch that ended", () => {
  const fresh = watchingAfterList("5");
  const settled = { ...fresh, settled: true };
  const resumed = { ...settled, resourceVersion: "7" };
  const retried = { ...resumed, failures: 1 };
  const cut = (relist: "lagging" | undefined): WatchEnd => ({ type: "cut", relist });
  test.each([
    ["closed late", fresh, { type: "closed" }, 1_000, resumed],
    [
      "closed early",
      settled,
      { type: "closed" },
      999,
      waiting(800, "retrying", "the watch was closed at once", retried),
    ],
    [
      "closed early too often",
      { ...settled, failures: failuresBeforeRelist - 1 },
      { type: "closed" },
      999,
      waiting(
        800,
        "retrying",
        "the watch was closed at once",
        listing("failing", { way: "pages" }),
      ),
    ],
    ["cut", settled, cut(undefined), 0, resumed],
    ["cut for a list", settled, cut("lagging"), 0, listing("lagging", { way: "pages" })],
    ["expired", settled, failed(status(410)), 0, listing("expired", { notOlderThan: "7" })],
    [
      "expired at last",
      fresh,
      failed(status(410)),
      5_000,
      listing("expired", { notOlderThan: "7" }),
    ],
    [
      "expired at once",
      fresh,
      failed(status(410)),
      10,
      waiting(800, "retrying", "status 410", listing("expired")),
    ],
    ["too large", settled, failed(tooLarge), 0, waiting(1_000, "retrying", "status 504", retried)],
    [
      "throttled",
      settled,
      failed(status(429, { retryAfterMs: 2_000 })),
      0,
      waiting(2_000, "throttled", "status 429", retried),
    ],
    [
      "forbidden",
      settled,
      failed(status(403)),
      0,
      waiting(30_000, "refused", "status 403", retried),
    ],
    [
      "undecodable",
      settled,
      failed(new WatchDecodeError("odd")),
      5_000,
      waiting(800, "retrying", "odd", listing("undecodable")),
    ],
    ["reset", settled, failed(reset), 5_000, waiting(800, "retrying", reset.message, resumed)],
    [
      "unreachable for long",
      { ...settled, failures: 99 },
      failed(unreachable),
      0,
      waiting(800, "retrying", unreachable.message, { ...resumed, failures: 100 }),
    ],
    [
      "reset too often",
      { ...settled, failures: failuresBeforeRelist - 1 },
      failed(reset),
      0,
      waiting(800, "retrying", reset.message, listing("failing", { way: "pages" })),
    ],
    [
      "too slow too often",
      { ...settled, failures: failuresBeforeRelist - 1 },
      failed(new DeadlineExceededError("late")),
      0,
      waiting(800, "retrying", "late", listing("failing", { way: "pages" })),
    ],
    [
      "too slow",
      settled,
      failed(new DeadlineExceededError("late")),
      0,
      waiting(800, "retrying", "late", retried),
    ],
    [
      "failed too often",
      { ...settled, failures: failuresBeforeRelist - 1 },
      failed(status(500)),
      0,
      waiting(800, "retrying", "status 500", listing("failing", { way: "pages" })),
    ],
  ] as const)("%s", (_, state, end, lastedMs, next) => {
    expect(afterWatchEnd(state, end, { resourceVersion: "7", lastedMs }, policy)).toEqual(next);
  });
});
