import { expect, test } from "vitest";
import { type ProfileName, profileNamed, profileNames } from "../versions/profiles.ts";
import { controllerFlags, flagArguments, readFlags } from "./flags.ts";

test("flags have the defaults of Kubernetes unless given", () => {
  const flags = controllerFlags(profileNamed("1.33"), { v: 4 });
  const { "kube-api-qps": qps, "kube-api-burst": burst, ...rest } = flags;
  expect([qps, burst, rest.v, rest["concurrent-endpoint-syncs"]]).toEqual([20, 30, 4, 5]);
});

test("defaults are those of the version", () => {
  const differing = profileNames.map((name) => {
    const flags = controllerFlags(profileNamed(name));
    const { "node-monitor-grace-period": graceMs, "leader-elect-resource-lock": lock } = flags;
    return [name, graceMs, lock];
  });
  expect(differing).toEqual([
    ["1.7", 40_000, "endpoints"],
    ["1.9", 40_000, "endpoints"],
    ["1.17.3", 40_000, "endpointsleases"],
    ["1.17.13", 40_000, "endpointsleases"],
    ["1.33", 50_000, "leases"],
    ["1.36", 50_000, "leases"],
  ]);
});

test.each<[object, string]>([
  [{ "kube-api-qps": 0 }, "--kube-api-qps must be positive: 0"],
  [
    { "endpoint-updates-batch-period": -1 },
    "--endpoint-updates-batch-period must be 0 or more: -1",
  ],
  [{ v: Number.NaN }, "--v must be 0 or more: NaN"],
  [
    { "leader-elect-lease-duration": 10_000 },
    "--leader-elect-lease-duration must be above the renew deadline",
  ],
  [
    { "leader-elect-retry-period": 8400 },
    "--leader-elect-renew-deadline must be above 1.2 times the retry period",
  ],
  [{ "kube-api-qsp": 5 }, "unknown flag: --kube-api-qsp"],
])("%j is refused", (flags, message) => {
  expect(() => controllerFlags(profileNamed("1.33"), flags)).toThrow(new RangeError(message));
});

test.each<[ProfileName, object, string]>([
  ["1.7", { "endpoint-updates-batch-period": 500 }, "endpoint-updates-batch-period"],
  ["1.9", { "max-endpoints-per-slice": 10 }, "max-endpoints-per-slice"],
  ["1.17.3", { "endpointslice-updates-batch-period": 500 }, "endpointslice-updates-batch-period"],
  ["1.17.13", { "mirroring-max-endpoints-per-subset": 10 }, "mirroring-max-endpoints-per-subset"],
  ["1.33", { "pod-eviction-timeout": 60_000 }, "pod-eviction-timeout"],
])("%s refuses a flag it does not have: %j", (version, flags, name) => {
  const message = `Kubernetes ${version} has no flag --${name}`;
  expect(() => controllerFlags(profileNamed(version), flags)).toThrow(new RangeError(message));
});

test("flags are read as they are typed", () => {
  const words = [
    "kube-api-qps=0.5",
    "--node-monitor-grace-period=1m30s",
    "leader-elect=false",
    "leader-elect-resource-lock=endpoints",
    "v=4",
  ];
  expect(readFlags(words)).toEqual({
    "kube-api-qps": 0.5,
    "node-monitor-grace-period": 90_000,
    "leader-elect": false,
    "leader-elect-resource-lock": "endpoints",
    v: 4,
  });
});

test.each([
  ["kube-api-qps", "kube-api-qps: it must be NAME=VALUE, with a NAME of kube-api-qps, "],
  ["qps=5", "qps=5: it must be NAME=VALUE, with a NAME of kube-api-qps, "],
  ["v=", "--v: it must be a value such as 0, not nothing"],
  ["min-resync-period=12", "--min-resync-period: it must be a value such as 12h0m0s, not 12"],
  ["leader-elect=yes", "--leader-elect: it must be a value such as true, not yes"],
  [
    "leader-elect-resource-lock=file",
    "--leader-elect-resource-lock: it must be a value such as leases, not file",
  ],
])("%s is refused with what would be right", (word, message) => {
  expect(() => readFlags([word])).toThrow(message);
});

test("the arguments of the process are those of the version, with durations as Go prints them", () => {
  const arguments_ = (version: ProfileName) =>
    flagArguments(controllerFlags(profileNamed(version)), profileNamed(version));
  expect(arguments_("1.7")).toEqual([
    "--kube-api-qps=20",
    "--kube-api-burst=30",
    "--concurrent-endpoint-syncs=5",
    "--concurrent-deployment-syncs=5",
    "--concurrent-replicaset-syncs=5",
    "--concurrent-gc-syncs=20",
    "--min-resync-period=12h0m0s",
    "--node-monitor-period=5s",
    "--node-monitor-grace-period=40s",
    "--node-startup-grace-period=1m0s",
    "--pod-eviction-timeout=5m0s",
    "--node-eviction-rate=0.1",
    "--secondary-node-eviction-rate=0.01",
    "--large-cluster-size-threshold=50",
    "--unhealthy-zone-threshold=0.55",
    "--terminated-pod-gc-threshold=12500",
    "--leader-elect=true",
    "--leader-elect-lease-duration=15s",
    "--leader-elect-renew-deadline=10s",
    "--leader-elect-retry-period=2s",
    "--leader-elect-resource-lock=endpoints",
    "--v=0",
  ]);
  const names = (version: ProfileName) =>
    arguments_(version).map((argument) => argument.slice(2, argument.indexOf("=")));
  const added = names("1.33").filter((name) => !names("1.17.3").includes(name));
  expect(added).toEqual([
    "mirroring-concurrent-service-endpoint-syncs",
    "mirroring-max-endpoints-per-subset",
    "endpointslice-updates-batch-period",
    "mirroring-endpointslice-updates-batch-period",
  ]);
});
