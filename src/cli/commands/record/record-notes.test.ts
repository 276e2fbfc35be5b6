import { describe, expect, test } from "vitest";
import type { ClusterStatus, ObservedWatchStatus } from "../../../observe/cluster-status.ts";
import { absentNamespaces, endText, troublesOf } from "./view.ts";

const well: ObservedWatchStatus = {
  resource: "pods",
  namespace: undefined,
  purposes: ["pod"],
  state: "fresh",
  detail: "",
  currentAtMs: undefined,
  aliveAtMs: undefined,
  listed: true,
  objects: 3,
  failure: undefined,
};

/** One that has not answered has no watches. */
function cluster(name: string, ...watches: readonly ObservedWatchStatus[]): ClusterStatus {
  return { cluster: name, state: { type: "watching" }, watches, lost: [], doubts: [] };
}

describe("a namespace is asked about", () => {
  const empty: ObservedWatchStatus = { ...well, namespace: "shpo", objects: 0 };
  const services = { ...empty, resource: "services" } as const;
  const asked = (...clusters: readonly ClusterStatus[]) =>
    absentNamespaces(clusters, ["shpo"]).length;

  test("when every list of it is there and empty", () => {
    expect(asked(cluster("prod", empty, services))).toBe(1);
    expect(asked(cluster("prod", empty), cluster("west", { ...empty, objects: 1 }))).toBe(0);
  });

  test("not while a list or a cluster is missing", () => {
    expect(asked(cluster("prod", empty, { ...services, listed: false }))).toBe(0);
    expect(asked(cluster("prod", empty), cluster("west"))).toBe(0);
  });

  test("not unless it was named", () => {
    expect(absentNamespaces([cluster("prod", empty)], undefined)).toEqual([]);
  });
});

test("all is well when every list is there and current", () => {
  expect(troublesOf([cluster("prod", well)])).toEqual([]);
});

test("a cluster is behind once, however many of its watches are", () => {
  const behind = { ...well, state: "stale" } as const;
  const clusters = [
    cluster("prod", behind, { ...behind, resource: "services" }),
    cluster("west", behind),
  ];
  expect(troublesOf(clusters).map(({ overText }) => overText)).toEqual([
    "prod is up to date again.",
    "west is up to date again.",
  ]);
});

test("each resource that is not listed is named, with the effect and the reason", () => {
  const unlisted = { ...well, listed: false } as const;
  const refused = { ...unlisted, state: "refused", detail: "it is forbidden" } as const;
  const failing = { ...unlisted, resource: "services", failure: "no answer" } as const;
  const listing = { ...unlisted, resource: "nodes", state: "stale", detail: "not yet" } as const;
  const texts = troublesOf([cluster("prod", refused, failing, listing)]).map(({ text }) => text);
  expect(texts).toEqual([
    "pods in prod are not listed yet; blame cannot match an address to a pod: it is forbidden",
    "services in prod are not listed yet; blame cannot explain a 503 for which no endpoint was tried: no answer",
    "nodes in prod are not listed yet; pods on a lost node are treated as healthy",
  ]);
});

describe("at the end it says", () => {
  const unlisted = { ...well, listed: false };

  test("that all is written, or how much is not", () => {
    expect(endText([cluster("prod", well)], 0)).toBe("Stopped; everything was written.");
    expect(endText([cluster("prod", well)], 2)).toBe("Stopped; 2 lines could not be written.");
  });

  test("which clusters were never read", () => {
    const prod = cluster("prod", well, { ...unlisted, resource: "nodes" });
    expect(endText([prod], 0)).toBe("Stopped; everything was written.");
    expect(endText([prod, cluster("west", unlisted), cluster("east")], 0)).toBe(
      "Stopped; everything was written. Never read: west, east.",
    );
  });

  test("that no cluster was read", () => {
    const text = "Stopped. Nothing was recorded: no cluster could be read.";
    expect(endText([cluster("prod", unlisted)], 0)).toBe(text);
    expect(endText([cluster("prod")], 0)).toBe(text);
  });
});
