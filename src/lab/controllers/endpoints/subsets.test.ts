import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type PodFields,
  podOf,
  serviceOf,
} from "../../../../tests/controllers/controller-objects.ts";
import type { Service } from "../../../kube/kinds/service.ts";
import { type ProfileName, profileNamed } from "../../versions/profiles.ts";
import { subsetsOf } from "./subsets.ts";

function publish(
  service: Service,
  pods: Parameters<typeof subsetsOf>[1],
  profile: ProfileName = "1.33",
) {
  return subsetsOf(service, pods, profileNamed(profile).endpoints);
}

/** Where one pod is published. */
function placeOf(pod: PodFields, service: Service, profile: ProfileName): string {
  const [subset] = publish(service, [podOf("a", pod)], profile);
  if (subset === undefined) return "nowhere";
  return subset.addresses === undefined ? "not ready" : "ready";
}

const tolerant = serviceOf({ publishNotReadyAddresses: true });
const strict = serviceOf();
const never = { restartPolicy: "Never" };
const onFailure = { restartPolicy: "OnFailure" };

describe("where a pod is published", () => {
  const versions: readonly ProfileName[] = ["1.7", "1.9", "1.17.3", "1.33"];
  const [yes, no, none] = ["ready", "not ready", "nowhere"];

  /** Expected of 1.7, 1.9, 1.17.3 and 1.33. */
  test.each<[string, PodFields, Service, readonly (string | undefined)[]]>([
    ["ready", { ready: true }, strict, [yes, yes, yes, yes]],
    ["not ready", { ready: false }, strict, [no, no, no, no]],
    ["without a Ready condition", { ready: undefined }, strict, [no, no, no, no]],
    ["not ready, tolerated", { ready: false }, tolerant, [no, no, yes, yes]],
    ["without an address", { ready: true, ip: "" }, strict, [none, none, none, none]],
    ["on its way out", { ready: true, deleted: true }, strict, [none, none, none, none]],
    ["on its way out, tolerated", { ready: true, deleted: true }, tolerant, [none, none, yes, yes]],
    ["failed but ready", { ready: true, phase: "Failed" }, strict, [yes, yes, yes, none]],
    ["failed", { ready: false, phase: "Failed" }, strict, [no, no, no, none]],
    ["failed for good", { phase: "Failed", spec: never }, strict, [no, none, none, none]],
    ["ended for good", { phase: "Succeeded", spec: never }, strict, [no, none, none, none]],
    ["ended well", { phase: "Succeeded", spec: onFailure }, strict, [no, none, none, none]],
    ["failed, to be tried again", { phase: "Failed", spec: onFailure }, strict, [no, no, no, none]],
    ["ended, tolerated", { phase: "Succeeded", spec: never }, tolerant, [no, none, yes, none]],
  ])("a pod %s", (_, pod, service, expected) => {
    expect(versions.map((version) => placeOf(pod, service, version))).toEqual(expected);
  });

  /** The annotation's text, the field, and expected of a pod on its way out. */
  test.each<[string | undefined, boolean, readonly (string | undefined)[]]>([
    ["true", false, [yes, yes, yes, none]],
    ["false", true, [none, none, none, yes]],
    ["what?", true, [none, none, yes, yes]],
    [undefined, true, [none, none, yes, yes]],
    [undefined, false, [none, none, none, none]],
  ])("is tolerated by annotation %s and field %s", (text, field, expected) => {
    const annotation = "service.alpha.kubernetes.io/tolerate-unready-endpoints";
    const service = {
      ...serviceOf({ publishNotReadyAddresses: field }),
      annotations: text === undefined ? {} : { [annotation]: text },
    };
    const pod = { ready: true, deleted: true };
    expect(versions.map((version) => placeOf(pod, service, version))).toEqual(expected);
  });
});

describe("what is published of a pod", () => {
  const web = { name: "web", containerPort: 8080, protocol: "TCP" };

  test("is its address, node and identity; 1.7 adds its version", () => {
    const pod = podOf("a", { ready: true, version: "42" });
    const targetRef = { kind: "Pod", namespace: "default", name: "a", uid: "uid-a" };
    const ports = [{ port: 8080, protocol: "TCP" }];
    const address = { ip: "10.0.0.1", nodeName: "n1" };
    expect(publish(serviceOf(), [pod])).toEqual([
      { addresses: [{ ...address, targetRef }], ports },
    ]);
    expect(publish(serviceOf(), [pod], "1.7")).toEqual([
      { addresses: [{ ...address, targetRef: { ...targetRef, resourceVersion: "42" } }], ports },
    ]);
  });

  test("is the number of a named port, where the pod has it for that protocol", () => {
    const service = serviceOf({ ports: [{ name: "http", port: 80, targetPort: "web" }] });
    const udp = podOf("b", { ready: true, ports: [{ ...web, protocol: "UDP" }] });
    const pods = [podOf("a", { ready: true, ports: [web] }), udp];
    expect(publish(service, pods).map(({ ports }) => ports)).toEqual([
      [{ name: "http", port: 8080, protocol: "TCP" }],
    ]);
  });

  test("is a hostname only under the subdomain of the service's name", () => {
    const hostname = (subdomain: string) =>
      publish(serviceOf(), [podOf("a", { ready: true, spec: { hostname: "h", subdomain } })])[0]
        ?.addresses?.[0]?.hostname;
    expect([hostname("web"), hostname("other")]).toEqual(["h", undefined]);
  });

  test("is the address of the service's family", () => {
    const pod = podOf("a", { ready: true, ip: "10.0.0.1", secondIp: "fd00::1" });
    const ip = (spec: object) => publish(serviceOf(spec), [pod])[0]?.addresses?.[0]?.ip;
    expect([
      ip({ clusterIP: "10.96.0.1" }),
      ip({ clusterIP: "fd00::9" }),
      ip({ clusterIP: "None", ipFamilies: ["IPv6", "IPv4"] }),
      ip({ clusterIP: "None", ipFamilies: [] }),
    ]).toEqual(["10.0.0.1", "fd00::1", "fd00::1", "10.0.0.1"]);
    const before = publish(serviceOf({ clusterIP: "fd00::9" }), [pod], "1.17.13");
    expect(before[0]?.addresses?.[0]?.ip).toBe("10.0.0.1");
  });

  test("is the application protocol of a port, but not in 1.17", () => {
    const ports = [{ port: 80, targetPort: 8080, appProtocol: "http" }];
    const published = (profile: ProfileName) =>
      publish(serviceOf({ ports }), [podOf("a", { ready: true })], profile)[0]?.ports;
    const port = { port: 8080, protocol: "TCP" };
    expect(published("1.33")).toEqual([{ ...port, appProtocol: "http" }]);
    expect(published("1.17.3")).toEqual([port]);
  });

  test("is an address without ports for a headless service that has none", () => {
    const service = serviceOf({ clusterIP: "None", ports: [] });
    const pods = [podOf("a", { ready: true })];
    const subset = { addresses: [{ ip: "10.0.0.1" }] };
    expect(publish(service, pods)).toMatchObject([subset]);
    expect(publish(service, pods)[0]?.ports).toBeUndefined();
    expect(publish(service, pods, "1.17.3")).toMatchObject([subset]);
    // 1.9 tries it with a port that no server accepts, and 1.7 not at all.
    const ports = [{ port: 0, protocol: "TCP" }];
    expect(publish(service, pods, "1.9")).toMatchObject([{ ...subset, ports }]);
    expect(publish(service, pods, "1.7")).toEqual([]);
    expect(publish(serviceOf({ ports: [] }), pods)).toEqual([]);
  });
});

describe("subsets", () => {
  const ports = [
    { name: "a", port: 80, targetPort: "one" },
    { name: "b", port: 81, targetPort: "two" },
  ];
  const one = { name: "one", containerPort: 1, protocol: "TCP" };
  const two = { name: "two", containerPort: 2, protocol: "TCP" };

  test("hold together the ports that have the same addresses, and no others", () => {
    const pods = [
      podOf("x", { ready: true, ip: "10.0.0.3", ports: [one, two] }),
      podOf("y", { ready: true, ip: "10.0.0.12", ports: [one, two] }),
    ];
    const both = publish(serviceOf({ ports }), pods);
    expect(both.map((subset) => subset.addresses?.map(({ ip }) => ip))).toEqual([
      ["10.0.0.12", "10.0.0.3"],
    ]);
    expect(both[0]?.ports?.map(({ name }) => name).sort()).toEqual(["a", "b"]);
    const lone = podOf("z", { ready: true, ip: "10.0.0.4", ports: [one] });
    const parted = publish(serviceOf({ ports }), [...pods, lone]);
    const sizes = parted.map(({ addresses, ports: own }) => [own?.[0]?.name, addresses?.length]);
    expect(Object.fromEntries(sizes)).toEqual({ a: 3, b: 2 });
  });

  test("do not depend on the order of the pods", () => {
    const pods = ["p", "q", "r", "s"].map((name, index) =>
      podOf(name, {
        ready: index % 2 === 0,
        ip: `10.0.0.${index}`,
        ports: index === 3 ? [one] : [one, two],
      }),
    );
    const expected = publish(serviceOf({ ports }), pods);
    fc.assert(
      fc.property(fc.shuffledSubarray(pods, { minLength: pods.length }), (shuffled) => {
        expect(publish(serviceOf({ ports }), shuffled)).toEqual(expected);
      }),
    );
  });
});
