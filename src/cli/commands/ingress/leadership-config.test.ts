import { Command } from "commander";
import { expect, test } from "vitest";
import { simulate } from "../../../simulation/simulation.ts";
import { EffectiveConfig } from "./config.ts";
import { addSettingFlags, flagTexts } from "./setting.ts";
import { ingressSettings, leadershipOf } from "./settings.ts";

const inPod = { POD_NAME: "lockstep-1", POD_NAMESPACE: "edge", POD_UID: "uid-1" };

async function settings(
  args: readonly string[],
  variables: Readonly<Record<string, string>>,
  isOwnCluster = true,
) {
  const command = addSettingFlags(new Command("ingress").exitOverride(), ingressSettings);
  command.configureOutput({ writeErr: () => undefined });
  command.parse([...args], { from: "user" });
  const { config } = new EffectiveConfig(flagTexts(command, ingressSettings), new Map());
  return await simulate({ seed: 1 }, async (simulation) => {
    const { processes, random } = simulation.host("lockstep");
    const options = { className: "web", isOwnCluster };
    const environment = { processes: { ...processes, variables }, random };
    return leadershipOf(environment, config.leadership, options);
  });
}

test("without an address to publish nobody competes", async () => {
  expect(await settings([], inPod)).toEqual({ watchedLocks: [] });
});

test("in a pod of the cluster the identity names the pod, and the Lease is in its namespace", async () => {
  const args = ["--publish-address", "192.0.2.1", "--publish-address", "edge.example"];
  expect(await settings([...args, "--depose-ghosts"], inPod)).toEqual({
    publish: {
      addresses: [
        { ip: "192.0.2.1", hostname: "" },
        { ip: "", hostname: "edge.example" },
      ],
      lease: { namespace: "edge", name: "lockstep-ingress-web" },
      identity: "lockstep-1_uid-1",
      podNamespace: "edge",
      deposeGhosts: true,
    },
    watchedLocks: [],
  });
});

test.each([
  ["a pod of another cluster", inPod, false, undefined],
  ["a machine", { HOSTNAME: "edge-1" }, true, undefined],
  ["a pod that was not told its uid", { ...inPod, POD_UID: "" }, true, "edge"],
])(
  "%s is nobody whom the cluster's pods could prove absent",
  async (_, variables, isOwnCluster, namespace) => {
    const { publish } = await settings(["--publish-address", "192.0.2.1"], variables, isOwnCluster);
    expect(publish?.identity).toMatch(/^outside\/[-a-z0-9]+_[-0-9a-f]{36}$/);
    expect(publish?.podNamespace).toBe(namespace);
    expect(publish?.lease.namespace).toBe(namespace ?? "default");
  },
);

test("for a Lease that was named, holders may be pods of any namespace", async () => {
  const args = ["--publish-address", "192.0.2.1", "--lease", "edge/mine"];
  expect((await settings(args, inPod)).publish?.podNamespace).toBeUndefined();
});

test("locks and the Lease are named by what kubectl calls them", async () => {
  const locks = ["--watch-lock", "configmap/ingress-nginx/leader", "--watch-lock", "lease/a/b"];
  const args = ["--publish-address", "192.0.2.1", "--lease", "edge/mine", ...locks];
  const { publish, watchedLocks } = await settings(args, {});
  expect(publish?.lease).toEqual({ namespace: "edge", name: "mine" });
  expect(watchedLocks).toEqual([
    { kind: "ConfigMap", namespace: "ingress-nginx", name: "leader" },
    { kind: "Lease", namespace: "a", name: "b" },
  ]);
});

test.each([
  [["--publish-address", "192.0.2.300"], "It must be an IP address or a host name in lower case."],
  [["--lease", "mine"], "It must be namespace/name, such as shop/web."],
  [
    ["--watch-lock", "secret/a/b"],
    "It must be kind/namespace/name, with lease, configmap or endpoints as its kind.",
  ],
])("%j is refused with what would be right", async (args, message) => {
  await expect(settings(args, {})).rejects.toThrow(message);
});
