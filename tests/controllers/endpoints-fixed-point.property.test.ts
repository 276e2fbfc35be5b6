import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { WallMs } from "../../src/environment/clock.ts";
import { isHeadless } from "../../src/kube/kinds/service.ts";
import { isUpToDate, publishedEndpoints } from "../../src/lab/controllers/endpoints/published.ts";
import { subsetsOf } from "../../src/lab/controllers/endpoints/subsets.ts";
import { wholeEndpoints } from "../../src/lab/controllers/whole-object.ts";
import { type ProfileName, profileNamed, profileNames } from "../../src/lab/versions/profiles.ts";
import { type PodFields, podOf, serviceOf, wholeOf } from "./controller-objects.ts";

const containerPorts = [
  { name: "one", containerPort: 1, protocol: "TCP" },
  { name: "two", containerPort: 2, protocol: "UDP" },
];
const servicePorts = [
  { name: "a", port: 80, targetPort: "one" },
  { name: "b", port: 81, targetPort: "two", protocol: "UDP" },
  { name: "c", port: 82, targetPort: 8080, appProtocol: "http" },
];

const anyService = fc
  .record({
    clusterIP: fc.constantFrom("None", "10.96.0.1"),
    ports: fc.subarray(servicePorts),
    publishNotReadyAddresses: fc.boolean(),
    labels: fc.constantFrom({}, { team: "shop" }, { team: "shop", tier: "web" }),
  })
  .map(({ labels, ...spec }) => serviceOf(spec, labels));

const anyPodFields: fc.Arbitrary<PodFields> = fc.record({
  ready: fc.constantFrom(true, false, undefined),
  phase: fc.constantFrom("Running", "Failed", "Succeeded"),
  deleted: fc.boolean(),
  ports: fc.subarray(containerPorts),
  version: fc.nat({ max: 99 }).map(String),
  // Pods on the network of their node share its address.
  ip: fc.constantFrom("", "10.0.0.1", "10.0.0.2", "10.0.0.13"),
  spec: fc.record({ restartPolicy: fc.constantFrom("Always", "OnFailure", "Never") }),
});

const anyPods = fc
  .array(anyPodFields, { maxLength: 6 })
  .map((all) => all.map((fields, index) => podOf(`p${index}`, fields)));

/** Each tries a whole service with its pods. */
const numRuns = 40;

/** Whether this version's bug writes an object that is correct. */
function isWrittenAgain(
  profile: ProfileName,
  { headless, empty }: { readonly headless: boolean; readonly empty: boolean },
): boolean {
  if (profile === "1.7") return empty;
  return profile === "1.17.3" && headless;
}

describe("what a sync published, the next finds right, except for the bugs of that version", () => {
  test.each(profileNames)("%s", (profile) => {
    const rules = profileNamed(profile).endpoints;
    const order = fc.infiniteStream(fc.nat());
    fc.assert(
      fc.property(anyService, anyPods, order, (service, pods, ranks) => {
        const subsets = subsetsOf(service, pods, rules);
        const at = Date.parse("2026-01-01T00:00:07Z") as WallMs;
        const next = publishedEndpoints(service, subsets, {}, at, rules);
        const { labels, annotations } = next;
        const stored = JSON.parse(JSON.stringify({ subsets: next.subsets }));
        const current = wholeOf(wholeEndpoints, "web", stored, { labels, annotations });
        const shuffled = pods
          .map((pod) => ({ pod, rank: ranks.next().value }))
          .sort((one, other) => one.rank - other.rank)
          .map(({ pod }) => pod);
        const again = subsetsOf(service, shuffled, rules);
        const facts = { headless: isHeadless(service), empty: subsets.length === 0 };
        expect(isUpToDate(current, service, again, rules)).toBe(!isWrittenAgain(profile, facts));
        // Written all the same, it stays as it is but for the trigger time.
        const { annotations: left, ...rest } = publishedEndpoints(
          service,
          again,
          annotations,
          undefined,
          rules,
        );
        expect(rest).toEqual({ labels, subsets });
        expect(left).toEqual({});
      }),
      { numRuns },
    );
  });
});
