import { expect, it } from "vitest";
import { type ApiWorld, inApiWorld, pod } from "../../../../tests/apiserver/api-world.ts";
import { HttpKubeClient } from "../../../kube/client/http-client.ts";
import { fixedAccess } from "../../../kube/credentials/credentials.ts";
import { flagsOf, readCounts, readingStatement } from "./cluster-counts.ts";

function* objects(): Generator<object, void, undefined> {
  for (let index = 0; index < 620; index += 1) {
    yield {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: `s-${index}`, namespace: index % 2 === 0 ? "default" : "kube-public" },
      spec: {
        // One in ten without a selector, half of the others headless.
        ...(index % 10 === 9 ? {} : { selector: { app: "web" } }),
        ...(index % 2 === 0 ? { clusterIP: "None" } : {}),
        ports: [{ port: 80 }],
      },
    };
  }
  for (let index = 0; index < 7; index += 1) yield pod(`pod-${index}`);
  for (const name of ["node-1", "node-2", "node-3"]) {
    yield { apiVersion: "v1", kind: "Node", metadata: { name } };
  }
}

const manager = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name: "kube-controller-manager-master",
    namespace: "kube-system",
    labels: { component: "kube-controller-manager" },
  },
  spec: {
    containers: [
      {
        name: "kube-controller-manager",
        image: "kube-controller-manager",
        command: ["kube-controller-manager", "--kube-api-qps=40", "--kube-api-burst=60"],
        args: ["--concurrent-endpoint-syncs=20", "--node-monitor-grace-period=1m", "--v=2"],
      },
    ],
  },
};

function clientOf({ client }: ApiWorld): HttpKubeClient {
  const cluster = fixedAccess({ name: "lab", server: "https://server:6443", token: "admin-token" });
  return new HttpKubeClient({ ...client, cluster, userAgent: "test" });
}

const { signal } = new AbortController();

it("reads how large a cluster is and how it is set, and changes nothing", async () => {
  await inApiWorld(
    async (world) => {
      const before = await world.storage.get("/registry/none");
      const counts = await readCounts(clientOf(world), signal);
      expect(counts).toEqual({
        given: {
          services: 558,
          "headless-share": 310 / 558,
          pods: 8,
          nodes: 3,
          qps: 40,
          burst: 60,
          workers: 20,
          "grace-period": 60_000,
        },
        version: "1.17.3",
        gitVersion: "v1.18.2",
        hasFlags: true,
        withSelector: 558,
        withoutSelector: 62,
      });
      expect((await world.storage.get("/registry/none")).revision).toBe(before.revision);
    },
    { objects: [...objects(), manager], gitVersion: "v1.18.2" },
  );
});

it("says when the controller manager cannot be seen", async () => {
  await inApiWorld(async (world) => {
    const counts = await readCounts(clientOf(world), signal);
    expect(counts).toMatchObject({
      given: { services: 10, pods: 1, nodes: 1 },
      hasFlags: false,
      withSelector: 0,
    });
  });
});

it("takes flags it cannot read for not given", () => {
  const words = ["--kube-api-qps=many", "--kube-api-burst=0", "--min-resync-period=6h0m0s"];
  expect(flagsOf([...words, "--kube-api-qps", "100"])).toEqual({ resync: 21_600_000 });
});

it("says what it will read", () => {
  expect(readingStatement("production")).toMatchInlineSnapshot(`
    "Reading from production, and writing nothing:
      GET /version
      GET services of all namespaces, in pages of 500
      GET one pod and one node, to read how many exist
      GET the pods of kube-controller-manager in kube-system, for their flags
    "
  `);
});
