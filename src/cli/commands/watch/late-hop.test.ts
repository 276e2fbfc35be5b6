import { expect, test } from "vitest";
import { change, clusterOf } from "../../../../tests/cli/watched-changes.ts";
import type { Journey } from "../../../timeline/journey.ts";
import { lateHopNotes } from "./late-hop.ts";

const explain = (cluster: string): string => `lockstep doctor --context ${cluster}`;

function notesOf(...stuck: readonly Journey[]): readonly string[] {
  return lateHopNotes({ stuck, clusters: [clusterOf("alpha"), clusterOf("beta")], explain });
}

const unpublished = { pod: 0, published: "stuck", routed: ["stuck", "stuck"] } as const;

test("many services that are published late are a backlog of the endpoint controller", () => {
  expect(
    notesOf(
      change({ service: "shop/web", hops: unpublished }),
      change({ service: "shop/api", hops: unpublished }),
    ),
  ).toEqual([
    "alpha: published endpoints of several services are late: the endpoint controller has a " +
      "backlog. Run lockstep doctor --context alpha",
  ]);
});

test("the cause of one service that is published late is unknown", () => {
  expect(notesOf(change({ cluster: "beta", hops: unpublished }))).toEqual([
    "beta: published endpoints of shop/web are late, cause unknown. Run lockstep doctor --context beta",
  ]);
});

test("one proxy that is late while others are not has a stale cache or watch", () => {
  const hops = { pod: 0, published: 300, routed: [500, "stuck", 700] } as const;
  expect(notesOf(change({ hops }))).toEqual([
    "alpha: only r2 routes shop/web late: its own cache or watch is stale. " +
      "Run lockstep doctor --context alpha",
  ]);
});

test("proxies that are all late behind right endpoints are updated late", () => {
  const hops = { pod: 0, published: 300, routed: ["stuck", "stuck"] } as const;
  expect(notesOf(change({ hops }))).toEqual([
    "alpha: all proxies route shop/web late although the published endpoints are right: the " +
      "ingress controller updates them late. Run lockstep doctor --context alpha",
  ]);
});

test("nothing is printed without a late hop, for a stale watch, or for a change without a start", () => {
  const late = change({ hops: unpublished });
  const doubted = { ...clusterOf("alpha"), doubts: ["the watch of pods in alpha is stale"] };
  expect(notesOf(change())).toEqual([]);
  expect(lateHopNotes({ stuck: [late], clusters: [doubted], explain })).toEqual([]);
  expect(notesOf(change({ hops: unpublished, notBeforeMs: 0 }))).toEqual([]);
});
