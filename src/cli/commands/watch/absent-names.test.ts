import { expect, test } from "vitest";
import { clusterOf } from "../../../../tests/cli/watched-changes.ts";
import type { ClusterStatus, ObservedWatchStatus } from "../../../observe/cluster-status.ts";
import { absentNames } from "./view.ts";

function listOf(namespace: string, objects: number): ObservedWatchStatus {
  return {
    resource: "services",
    namespace,
    purposes: ["pod"],
    state: "fresh",
    detail: "",
    currentAtMs: undefined,
    aliveAtMs: undefined,
    listed: true,
    objects,
    failure: undefined,
  };
}

const alpha: ClusterStatus = {
  ...clusterOf("alpha"),
  watches: [listOf("shop", 2), listOf("shpo", 0)],
};
const asked = {
  namespaces: ["shop", "shpo"],
  services: ["shop/web", "shop/wbe"],
  isService: (service: string) => service === "shop/web",
};

test("names that no cluster has are told, in case they are misspelt", () => {
  expect(absentNames({ ...asked, clusters: [alpha] })).toEqual([
    "no cluster has a service in the namespace shpo at the moment. Check the name.",
    "no cluster has a service shop/wbe at the moment. Check the name.",
  ]);
});

test("a cluster that is yet to be listed may have them", () => {
  const beta = clusterOf("beta", { type: "listing", listed: 1, of: 4 });
  const unlisted = { ...alpha, watches: [{ ...listOf("shop", 0), listed: false }] };
  expect(absentNames({ ...asked, clusters: [alpha, beta] })).toEqual([]);
  expect(absentNames({ ...asked, clusters: [unlisted] })).toEqual([]);
  expect(absentNames({ ...asked, clusters: [clusterOf("alpha")] })).toEqual([]);
});
