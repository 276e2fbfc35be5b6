import { describe, expect, test } from "vitest";
import { podOf, serviceOf, wholeOf } from "../../../../tests/controllers/controller-objects.ts";
import type { WallMs } from "../../../environment/clock.ts";
import type { Service } from "../../../kube/kinds/service.ts";
import { profileNamed } from "../../versions/profiles.ts";
import { wholeEndpoints } from "../whole-object.ts";
import { goTime, isUpToDate, publishedEndpoints } from "./published.ts";
import type { Subset, SubsetAddress } from "./repack.ts";
import { subsetsOf } from "./subsets.ts";

const now = profileNamed("1.33").endpoints;
const old = profileNamed("1.7").endpoints;
const trigger = "endpoints.kubernetes.io/last-change-trigger-time";
const over = "endpoints.kubernetes.io/over-capacity";
const managed = { "endpoints.kubernetes.io/managed-by": "endpoint-controller" };
const headless = { "service.kubernetes.io/headless": "" };
const service = serviceOf({}, { team: "shop" });
const pods = [podOf("a", { ready: true, version: "42" })];
const subsets = subsetsOf(service, pods, now);
const at = Date.parse("2026-01-01T00:00:07.250Z") as WallMs;

describe("nothing is written by 1.33", () => {
  const labels = { team: "shop", ...managed };
  const withVersions = subsetsOf(service, pods, old);

  test.each<[string, object, object, boolean]>([
    ["when all is equal", { subsets }, { labels }, true],
    ["when only the pod's version differs", { subsets: withVersions }, { labels }, true],
    ["unless a label is missing", { subsets }, { labels: managed }, false],
    ["unless a label is one too many", { subsets }, { labels: { ...labels, x: "y" } }, false],
    ["unless the mark of 1.33 is missing", { subsets }, { labels: { team: "shop" } }, false],
    ["whatever the headless label", { subsets }, { labels: { ...labels, ...headless } }, true],
    ["unless an address differs", { subsets: [] }, { labels }, false],
    [
      "unless it is marked as cut off",
      { subsets },
      { labels, annotations: { [over]: "truncated" } },
      false,
    ],
    ["whatever the trigger time", { subsets }, { labels, annotations: { [trigger]: "x" } }, true],
  ])("%s", (_, fields, metadata, expected) => {
    const current = wholeOf(wholeEndpoints, "web", fields, metadata);
    expect(isUpToDate(current, service, subsets, now)).toBe(expected);
  });

  test("for a service without addresses whose Endpoints have none", () => {
    const current = wholeOf(wholeEndpoints, "web", {}, { labels });
    expect(isUpToDate(current, service, [], now)).toBe(true);
  });
});

describe("1.17", () => {
  const [bug, fixed] = [profileNamed("1.17.3").endpoints, profileNamed("1.17.13").endpoints];
  const none = serviceOf({ clusterIP: "None" }, { team: "shop" });
  const wanted = subsetsOf(service, pods, bug);
  const touched = [podOf("a", { ready: true, version: "43" })];

  /** Expected of 1.17.3 and 1.17.13. */
  test.each<[string, Service, readonly Subset[], object, readonly boolean[]]>([
    ["leaves a service with an address alone", service, wanted, {}, [true, true]],
    ["leaves a headless service alone only since 1.17.13", none, wanted, headless, [false, true]],
    [
      "does not miss the headless label of an object made without it",
      none,
      wanted,
      {},
      [true, true],
    ],
    [
      "writes when a pod was touched in any way",
      service,
      subsetsOf(service, touched, bug),
      {},
      [false, false],
    ],
    ["knows nothing of the mark of 1.33", service, wanted, managed, [false, false]],
    ["takes no list and an empty one for the same", service, [], {}, [true, true]],
  ])("%s", (_, one, subsets, labels, expected) => {
    const published = subsets.length === 0 ? {} : { subsets: wanted };
    const metadata = { labels: { team: "shop", ...labels } };
    const current = wholeOf(wholeEndpoints, "web", published, metadata);
    expect([bug, fixed].map((rules) => isUpToDate(current, one, subsets, rules))).toEqual(expected);
  });

  test("writes the headless label and the trigger time, and removes the latter when it has none", () => {
    const kept = { keep: "me", [over]: "warning", [trigger]: "before" };
    expect(publishedEndpoints(none, wanted, kept, undefined, bug)).toEqual({
      labels: { team: "shop", ...headless },
      annotations: { keep: "me", [over]: "warning" },
      subsets: wanted,
    });
    expect(publishedEndpoints(service, wanted, kept, at, fixed)).toEqual({
      labels: { team: "shop" },
      annotations: { ...kept, [trigger]: "2026-01-01T00:00:07.25Z" },
      subsets: wanted,
    });
  });

  test("does not cut off", () => {
    const many = [{ addresses: addresses(1001) }];
    expect(publishedEndpoints(service, many, {}, undefined, fixed).subsets).toEqual(many);
  });
});

test("a headless label of the service's own is never right once the controller writes one", () => {
  const labelled = serviceOf({}, { team: "shop", ...headless });
  const versions = ["1.9", "1.17.3", "1.17.13", "1.33"] as const;
  const areRight = versions.map((version) => {
    const rules = profileNamed(version).endpoints;
    const own = subsetsOf(labelled, pods, rules);
    const { labels } = publishedEndpoints(labelled, own, {}, undefined, rules);
    const current = wholeOf(wholeEndpoints, "web", { subsets: own }, { labels });
    return isUpToDate(current, labelled, own, rules);
  });
  expect(areRight).toEqual([true, false, false, false]);
});

describe("1.7 compares strictly", () => {
  const withVersion = subsetsOf(service, pods, old);
  const labels = { team: "shop" };

  test.each<[string, object, readonly Subset[], boolean]>([
    ["equal objects are equal", { subsets: withVersion }, withVersion, true],
    ["a pod's version counts", { subsets }, withVersion, false],
    ["none is not an empty list: without addresses every sync writes", {}, [], false],
  ])("%s", (_, fields, wanted, expected) => {
    const current = wholeOf(wholeEndpoints, "web", fields, { labels });
    expect(isUpToDate(current, service, wanted, old)).toBe(expected);
  });
});

describe("what is written", () => {
  test("has the service's labels, the marks of the controller and the trigger time", () => {
    const kept = { keep: "me", [trigger]: "before", [over]: "truncated" };
    expect(publishedEndpoints(service, subsets, kept, at, now)).toEqual({
      labels: { team: "shop", ...managed },
      annotations: { keep: "me", [trigger]: "2026-01-01T00:00:07.25Z" },
      subsets,
    });
    const none = serviceOf({ clusterIP: "None" }, { team: "shop" });
    expect(publishedEndpoints(none, subsets, kept, undefined, now)).toEqual({
      labels: { team: "shop", ...headless, ...managed },
      annotations: { keep: "me" },
      subsets,
    });
  });

  test("in 1.7 has the service's labels and the annotations that were there", () => {
    expect(publishedEndpoints(service, subsets, { keep: "me" }, at, old)).toEqual({
      labels: { team: "shop" },
      annotations: { keep: "me" },
      subsets,
    });
  });

  test.each([
    [
      "ready ones stay when they fit",
      [
        [900, 90],
        [60, 60],
      ],
      [
        [900, 24],
        [60, 16],
      ],
    ],
    [
      "each subset keeps its share of too many ready ones",
      [
        [900, 5],
        [300, 5],
      ],
      [
        [750, 0],
        [250, 0],
      ],
    ],
    [
      "a share is rounded up while there is room",
      [
        [1000, 0],
        [1, 0],
      ],
      [
        [1000, 0],
        [0, 0],
      ],
    ],
  ])("is cut off at 1000 addresses: %s", (_, sizes, expected) => {
    const wanted = sizes.map(([ready = 0, notReady = 0]) => ({
      addresses: addresses(ready),
      notReadyAddresses: addresses(notReady),
    }));
    const written = publishedEndpoints(service, wanted, {}, undefined, now);
    expect(
      written.subsets.map((one) => [
        one.addresses?.length ?? 0,
        one.notReadyAddresses?.length ?? 0,
      ]),
    ).toEqual(expected);
    expect(written.annotations).toEqual({ [over]: "truncated" });
  });
});

test.each([
  ["2026-01-01T00:00:07.000Z", "2026-01-01T00:00:07Z"],
  ["2026-01-01T00:00:10.000Z", "2026-01-01T00:00:10Z"],
  ["2026-01-01T00:00:10.120Z", "2026-01-01T00:00:10.12Z"],
])("Go prints %s as %s", (text, expected) => {
  expect(goTime(Date.parse(text) as WallMs)).toBe(expected);
});

function addresses(count: number): readonly SubsetAddress[] {
  return Array.from({ length: count }, (_, index) => ({
    ip: `10.0.${index >> 8}.${index & 255}`,
    nodeName: "n",
    targetRef: { kind: "Pod", namespace: "default", name: `p${index}`, uid: `u${index}` },
  }));
}
