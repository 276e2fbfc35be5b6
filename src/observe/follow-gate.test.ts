import { expect, test } from "vitest";
import type { ObservationSink } from "../timeline/observation.ts";
import type { FollowedService, UnfollowedService } from "../timeline/witness.ts";
import { FollowGate } from "./follow-gate.ts";

const pods = { hop: "pod", name: "east" } as const;
const web = { cluster: "east", service: "shop/web" };
const listed = [{ isHeard: true }];

function gateWorld() {
  const said: [string, FollowedService | UnfollowedService][] = [];
  const sink: ObservationSink = {
    report: () => undefined,
    follow: (_, service) => said.push(["follows", service]),
    unfollow: (_, service) => said.push(["unknown", service]),
  };
  return { gate: new FollowGate(sink), said };
}

test("no hop is waited for until every watch is listed, nor after one is lost", () => {
  const { gate, said } = gateWorld();
  gate.follow(pods, web);
  gate.turn([...listed, { isHeard: false }]);
  expect(said.splice(0)).toEqual([]);
  gate.turn(listed);
  expect(said.splice(0)).toEqual([["follows", web]]);
  gate.turn([{ isHeard: false }]);
  expect(said.splice(0)).toEqual([["unknown", web]]);
  gate.unfollow(pods, web);
  gate.turn(listed);
  expect(said).toEqual([]);
});

test("the details of following a service are passed on whole", () => {
  const { gate, said } = gateWorld();
  gate.turn(listed);
  gate.follow(pods, { ...web, ports: [8080] });
  gate.unfollow(pods, { ...web, forGood: true });
  expect(said).toEqual([
    ["follows", { ...web, ports: [8080] }],
    ["unknown", { ...web, forGood: true }],
  ]);
});
