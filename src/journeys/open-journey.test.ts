import { expect, test } from "vitest";
import { Observed, pod, published, replica, web } from "./observed.contract.ts";

/** A leave that two replicas have yet to show when they are found stuck. */
function stuckAtTwo(): Observed {
  const all = [pod, published, replica("r1"), replica("r2")];
  const seen = new Observed(all);
  seen.baseline(...all);
  seen.say(20_000, pod, "leave");
  seen.say(20_040, published, "leave");
  seen.advance(50_000);
  return seen;
}

const states = ({ lastOver }: Observed) =>
  lastOver?.hops.map(({ hop, witness, state }) => `${hop} ${witness} ${state.type}`);

test.each([{ forGood: true }, {}] as const)(
  "where it was found stuck stays known when that replica is heard no more: %j",
  (how) => {
    const seen = stuckAtTwo();
    seen.journeys.unfollow(replica("r1"), { ...web, ...how });
    expect(seen.over).toEqual([]);
    seen.say(51_000, replica("r2"), "leave");
    expect(states(seen)).toEqual([
      "pod east shown",
      "published east shown",
      "routed r1 stuck",
      "routed r2 shown",
    ]);
    expect(seen.over).toEqual([
      "51000: complete: −10.0.0.1 shop/web  pod 0 · published 40 ms · routed never shown 31 s",
    ]);
  },
);

test("a replica that is heard again and shows it was late, and is named once", () => {
  const seen = stuckAtTwo();
  seen.journeys.unfollow(replica("r1"), web);
  seen.say(51_000, replica("r1"), "leave");
  seen.journeys.follow(replica("r1"), web);
  seen.say(52_000, replica("r2"), "leave");
  expect(states(seen)).toEqual([
    "pod east shown",
    "published east shown",
    "routed r1 shown",
    "routed r2 shown",
  ]);
});
