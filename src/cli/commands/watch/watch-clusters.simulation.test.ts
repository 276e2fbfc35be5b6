// Which contexts of a kubeconfig are watched. One of its clusters has two servers, and two users.
import { expect, test } from "vitest";
import { startServers } from "../../../../tests/cli/cluster-servers.ts";
import { simulate } from "../../../simulation/simulation.ts";
import { watchedClusters } from "../../watched-clusters.ts";

const hosts = ["lab-1", "lab-1-server-2", "lab-2"];

const kubeconfig = JSON.stringify({
  apiVersion: "v1",
  kind: "Config",
  "current-context": "lab-1",
  clusters: hosts.map((name) => ({ name, cluster: { server: `https://${name}:6443` } })),
  contexts: [
    ...hosts.map((name) => ({ name, context: { cluster: name, user: "admin" } })),
    { name: "lab-1-nobody", context: { cluster: "lab-1", user: "nobody" } },
  ],
  users: ["admin", "nobody"].map((name) => ({ name, user: { token: name } })),
});

/** The clusters that are watched, and the notes about the others. */
async function watched(...contexts: readonly string[]) {
  return await simulate({ seed: 1 }, async (simulation) => {
    const servers = [
      await startServers(simulation, ["lab-1", "lab-1-server-2"]),
      await startServers(simulation, ["lab-2"]),
    ];
    const environment = simulation.host("here");
    await environment.files.write("/kubeconfig", kubeconfig);
    const allContexts = contexts.length === 0;
    const asked = { kubeconfig: "/kubeconfig", contexts, allContexts, accessContexts: [] };
    const { signal } = new AbortController();
    const { clusters, leftOut } = await watchedClusters(environment, asked, signal);
    for (const one of servers) await one.stop();
    return { clusters: clusters.map(({ cluster }) => cluster), leftOut };
  });
}

test("of all contexts, one of each cluster is watched, and the others are named", async () => {
  expect(await watched()).toEqual({
    clusters: ["lab-1", "lab-2"],
    leftOut: [
      "context lab-1-nobody is skipped: it is the same server as lab-1",
      "context lab-1-server-2 is skipped: it is the same cluster as lab-1 " +
        "(kube-system has the same uid)",
    ],
  });
});

test("contexts that were named are watched, with a note that they are of one cluster", async () => {
  expect(await watched("lab-1", "east=lab-1-server-2", "lab-2")).toEqual({
    clusters: ["lab-1", "east", "lab-2"],
    leftOut: [
      "contexts lab-1 and east are the same cluster (kube-system has the same uid), " +
        "so each change is counted twice: give only one of them",
    ],
  });
});
