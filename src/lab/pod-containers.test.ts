import { expect, test } from "vitest";
import { type ApiWorld, inApiWorld } from "../../tests/apiserver/api-world.ts";
import { HttpKubeClient } from "../kube/client/http-client.ts";
import { fixedAccess } from "../kube/credentials/credentials.ts";
import { PodContainers } from "./pod-containers.ts";

const pods = "/api/v1/namespaces/default/pods";
const aMomentMs = 50;

async function runPod({ call }: ApiWorld, name: string, nodeName: string) {
  await call("POST", pods, {
    metadata: { name, labels: { app: "ingress" } },
    spec: { nodeName, containers: [{ name: "c", image: "i" }] },
  });
  const contentType = "application/merge-patch+json";
  await call("PATCH", `${pods}/${name}/status`, { status: { phase: "Running" } }, { contentType });
}

function containersOf({ simulation }: ApiWorld, happened: string[]) {
  const environment = simulation.host("machines");
  const cluster = fixedAccess({ name: "c", server: "http://server:6443", token: "admin-token" });
  return new PodContainers({
    ...environment,
    client: new HttpKubeClient({ ...environment, cluster, userAgent: "test" }),
    cluster: "c",
    namespace: "default",
    labelSelector: "app=ingress",
    start: async ({ metadata: { name } }) => {
      happened.push(`${name} starts`);
      const stop = async () => void happened.push(`${name} ends`);
      return { stop };
    },
    onGone: ({ metadata: { name } }) => void happened.push(`${name} is forgotten`),
  });
}

test("a container runs while its pod is to run, and on a stray machine whatever the API says", () =>
  inApiWorld(async (world) => {
    const { simulation, call } = world;
    const happened: string[] = [];
    const containers = containersOf(world, happened);
    containers.start();
    await runPod(world, "one", "a");
    await runPod(world, "two", "b");
    await simulation.sleep(aMomentMs);
    containers.strand("b");
    for (const name of ["one", "two"]) {
      await call("DELETE", `${pods}/${name}`, { gracePeriodSeconds: 0 });
    }
    await simulation.sleep(aMomentMs);
    expect(containers.running().map(({ pod, isStray }) => [pod.metadata.name, isStray])).toEqual([
      ["two", true],
    ]);
    await containers.stopOn("b");
    expect(containers.running()).toEqual([]);
    expect(happened).toEqual([
      "one starts",
      "two starts",
      "one ends",
      "one is forgotten",
      "two is forgotten",
      "two ends",
    ]);
    await containers.stop();
  }));

test("a pod that is asked to go has its container end before the API forgets it", () =>
  inApiWorld(async (world) => {
    const happened: string[] = [];
    const containers = containersOf(world, happened);
    containers.start();
    await runPod(world, "one", "a");
    await world.simulation.sleep(aMomentMs);
    await world.call("DELETE", `${pods}/one`);
    await world.simulation.sleep(aMomentMs);
    expect(happened).toEqual(["one starts", "one ends"]);
    await containers.stop();
  }));
