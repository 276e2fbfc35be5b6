import { describe, expect, test } from "vitest";
import type { RecordedWatch } from "../../recording/cluster-recorder.ts";
import { absentNamespaces, endText, troublesOf } from "./record-notes.ts";

const well: RecordedWatch = {
  cluster: "prod",
  resource: "pods",
  namespace: undefined,
  isListed: true,
  isFresh: true,
  objects: 3,
  problem: undefined,
};

describe("a namespace is asked about", () => {
  const empty: RecordedWatch = { ...well, namespace: "shpo", objects: 0 };
  const asked = (watches: readonly RecordedWatch[], waitingFor: readonly string[] = []) =>
    absentNamespaces({ watches, waitingFor }, ["shpo"]).length;

  test("when every list of it is there and empty", () => {
    expect(asked([empty, { ...empty, resource: "services" }])).toBe(1);
    expect(asked([empty, { ...empty, cluster: "west", objects: 1 }])).toBe(0);
  });

  test("not while a list or a cluster is missing", () => {
    expect(asked([empty, { ...empty, resource: "services", isListed: false }])).toBe(0);
    expect(asked([empty], ["west"])).toBe(0);
  });

  test("not unless it was named", () => {
    expect(absentNamespaces({ watches: [empty], waitingFor: [] }, undefined)).toEqual([]);
  });
});

test("all is well when every list is there and current", () => {
  expect(troublesOf({ watches: [well], waitingFor: [] })).toEqual([]);
});

test("a cluster is behind once, however many of its watches are", () => {
  const behind = { ...well, isFresh: false };
  const watches = [behind, { ...behind, resource: "services" }, { ...behind, cluster: "west" }];
  expect(troublesOf({ watches, waitingFor: [] }).map(({ overText }) => overText)).toEqual([
    "prod is current again.",
    "west is current again.",
  ]);
});

describe("at the end it says", () => {
  const unlisted = { ...well, isListed: false };
  const end = (
    watches: readonly RecordedWatch[],
    waitingFor: readonly string[] = [],
    dropped = 0,
  ) => endText({ watches, waitingFor }, dropped);

  test("that all is written, or how much is not", () => {
    expect(end([well])).toBe("Stopped; everything is written.");
    expect(end([well], [], 2)).toBe("Stopped; 2 lines could not be written.");
  });

  test("who was never read", () => {
    expect(end([well, { ...unlisted, resource: "nodes" }])).toBe("Stopped; everything is written.");
    expect(end([well, { ...unlisted, cluster: "west" }], ["east"])).toBe(
      "Stopped; everything is written. Never read: west, east.",
    );
  });

  test("that nobody was", () => {
    const text = "Stopped; no cluster was ever read: nothing was recorded.";
    expect(end([unlisted])).toBe(text);
    expect(end([], ["prod"])).toBe(text);
  });
});
