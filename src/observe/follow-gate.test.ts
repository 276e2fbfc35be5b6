import { expect, test } from "vitest";
import type { ObservationSink } from "../timeline/observation.ts";
import type { FollowedService, UnfollowedService } from "../timeline/witness.ts";
import { FollowGate } from "./follow-gate.ts";

const pods = { hop: "pod", name: "east" } as const;
const web = { cluster: "east", service: "shop/web" };
const heard = [{ isHeard: true }];

function gateWorld() {
  const said: [string, FollowedService | UnfollowedService][] = [];
  const sink: ObservationSink = {
    report: () => undefined,
    follow: (_, service) => said.push(["follows", service]),
    unfollow: (_, service) => said.push(["unknown", service]),
  };
  return { gate: new FollowGate(sink), said };
}

test("nothing is waited for until every watch is heard, nor when one is heard no more", () => {
  const { gate, said } = gateWorld();
  gate.follow(pods, web);
  gate.turn([...heard, { isHeard: false }]);
  expect(said.splice(0)).toEqual([]);
  gate.turn(heard);
  expect(said.splice(0)).toEqual([["follows", web]]);
  gate.turn([{ isHeard: false }]);
  expect(said.splice(0)).toEqual([["unknown", web]]);
  gate.unfollow(pods, web);
  gate.turn(heard);
  expect(said).toEqual([]);
});

test("what is said of following a service is passed on whole", () => {
  const { gate, said } = gateWorld();
  gate.turn(heard);
  gate.follow(pods, { ...web, ports: [8080] });
  gate.unfollow(pods, { ...web, forGood: true });
  expect(said).toEqual([
    ["follows", { ...web, ports: [8080] }],
    ["unknown", { ...web, forGood: true }],
  ]);
});
