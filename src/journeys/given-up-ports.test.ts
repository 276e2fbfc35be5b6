import { expect, test } from "vitest";
import { ms, Observed, pod, published } from "./observed.contract.ts";
import { RoutedWitness } from "./routed-witness.ts";

const tls = { port: 8443 };

/** A replica that routes to two ports of a service, of which it gives up one. */
function givenUp(): Observed {
  const seen = new Observed([pod, published]);
  const witness = new RoutedWitness({ replica: "r1", sink: seen.journeys });
  const one = { address: "10.0.0.1", podUid: "a", cluster: "east" };
  for (const said of [{}, tls]) {
    for (const near of [pod, published]) seen.say(0, near, "join", { ...said, baseline: true });
  }
  const both = [8080, 8443].map((port) => ({ ...one, port }));
  witness.began(new Map([["shop/web", both]]), ms(0));
  seen.advance(60_000);
  witness.routed("shop/web", both.slice(0, 1), ms(60_000));
  witness.gaveUp("shop/web", [8443]);
  return seen;
}

test("a port that a replica gives up is no change of its pods", () => {
  const seen = givenUp();
  seen.advance(120_000);
  expect(seen.journeys.pending()).toEqual([]);
  expect(seen.events.filter((event) => event.includes("stuck"))).toEqual([]);
});

test("a replica is waited for at the port that it keeps, and not at the one it has given up", () => {
  const seen = givenUp();
  for (const said of [{}, tls]) {
    for (const near of [pod, published]) {
      seen.say(70_000, near, "join", { ...said, uid: "b", address: "10.0.0.2" });
    }
  }
  const pending = seen.journeys.pending();
  expect(pending.map(({ endpoint }) => endpoint.port)).toEqual([8080]);
  expect(seen.over.at(-1)).toBe(
    "70000: complete: +10.0.0.2 shop/web  pod 0 · published 0 · routed ?",
  );
});

test("what a replica has shown at the port that it keeps still counts", () => {
  const seen = givenUp();
  for (const near of [pod, published]) seen.say(70_000, near, "leave");
  const pending = seen.journeys.pending();
  expect(pending.map(({ endpoint }) => endpoint.port)).toEqual([8080]);
});
