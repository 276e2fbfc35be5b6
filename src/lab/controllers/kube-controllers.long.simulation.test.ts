// Services, workloads and pods change at random. Afterwards the published objects must equal the
// result of the pure functions for the final state, and no controller may write any more.
import { expect } from "vitest";
import {
  type ControllerWorld,
  deployment,
  deployments,
  endpoints,
  inControllerWorld,
  service as rawService,
  replicaSets,
  services,
  slices,
} from "../../../tests/controllers/controller-world.ts";
import { listAt, numberAt, objectsAt, textAt } from "../../apiserver/kinds/fields.ts";
import type { KubeObject } from "../../apiserver/kube-object.ts";
import { nodeKind } from "../../kube/kinds/node.ts";
import { type Service, serviceKind } from "../../kube/kinds/service.ts";
import { forEachSeed } from "../../simulation/seeds.ts";
import { profileNamed } from "../versions/profiles.ts";
import { subsetsOf } from "./endpoints/subsets.ts";
import { labelsFor, readSlice } from "./endpointslices/published-slice.ts";
import { sliceGroups } from "./endpointslices/slice-groups.ts";
import { portsKey } from "./endpointslices/slice-ports.ts";
import { type OwnedPod, ownedPodKind } from "./owned-pod.ts";
import { wholeSlices } from "./whole-object.ts";

const podsPath = "/api/v1/namespaces/default/pods";
const names = ["a", "b", "c"];
const changes = 30;
const maxEndpointsPerSlice = 3;
const flags = { "max-endpoints-per-slice": maxEndpointsPerSlice };

/** Longer than the longest pause before a retry: the slices' controller doubles it up to 1,000 s. */
const calmMs = 1_100_000;

const quietMs = 100_000;

/**
 * Writes of a new process: its pod in place of the old one, the status of this pod, and an event for
 * each of the three nodes that it has found.
 */
const writesOfStart = 3 + 3;

forEachSeed("after quiet, what is published follows from the final state", { seeds: 2 }, (seed) =>
  inControllerWorld(
    async (world) => {
      for (const name of names) {
        await world.create(services, rawService(name));
        await world.create(deployments, deployment(name, 3));
      }
      for (let change = 0; change < changes; change += 1) {
        await randomChange(world);
        await world.live(world.simulation.random.next() * 4000);
      }
      world.server.faults.cache.cacheLagMs = 0;
      await world.live(calmMs);
      await expectPublished(world);
      await makeReady(world);
      await world.live(quietMs);
      await expectPublished(world);
      await expectWorkloads(world);
      const before = await world.writes();
      expect(before).toBeGreaterThan(changes);
      // A start goes over everything, and so does each resync after it.
      await world.restart({ ...flags, "min-resync-period": 20_000 });
      await world.live(quietMs);
      expect(await world.writes()).toBe(before + writesOfStart);
      await expectPublished(world);
    },
    { seed, flags },
  ),
);

async function randomChange(world: ControllerWorld): Promise<void> {
  const { random } = world.simulation;
  const pick = <T>(choices: readonly T[]): T | undefined =>
    choices[Math.floor(random.next() * choices.length)];
  const name = pick(names) ?? "a";
  const { call, list, server } = world;
  const isReady = random.next() < 0.5;
  const patch = (path: string, body: object) =>
    call("PATCH", path, body, { contentType: "application/merge-patch+json" });
  const pod = pick(await list(podsPath));
  const podPath = `${podsPath}/${pod?.metadata.name}`;
  const acts: readonly (() => Promise<unknown>)[] = [
    () => call("POST", services, rawService(name, { clusterIP: isReady ? "None" : "" })),
    () => call("DELETE", `${services}/${name}`),
    () => patch(`${services}/${name}`, { metadata: { labels: { rank: String(random.next()) } } }),
    () => patch(`${services}/${name}`, { spec: { publishNotReadyAddresses: isReady } }),
    () => patch(`${services}/${name}`, { spec: { ports: [{ port: 80, targetPort: "web" }] } }),
    () => call("POST", deployments, deployment(name, 2)),
    () => call("DELETE", `${deployments}/${name}`),
    () => patch(`${deployments}/${name}`, { spec: { replicas: Math.floor(random.next() * 8) } }),
    () => patch(`${deployments}/${name}`, templatePatch(String(random.next()))),
    () => call("DELETE", podPath),
    () => patch(podPath, { metadata: { labels: { app: name } } }),
    () => patch(`${podPath}/status`, { status: { conditions: [readyCondition(isReady)] } }),
    () => call("DELETE", `${endpoints}/${name}`),
    async () => {
      server.faults.cache.cacheLagMs = isReady ? 0 : 1500;
    },
  ];
  await pick(acts)?.();
}

/** A rollout does not continue past a pod that was made unready at random and stays so. */
async function makeReady({ list, call }: ControllerWorld): Promise<void> {
  for (const { metadata } of await list(podsPath)) {
    const body = { status: { conditions: [readyCondition(true)] } };
    const contentType = "application/merge-patch+json";
    await call("PATCH", `${podsPath}/${metadata.name}/status`, body, { contentType });
  }
}

function templatePatch(mark: string): object {
  const container = { name: "web", image: "web:1", ports: [{ name: "web", containerPort: 8080 }] };
  const template = { metadata: { annotations: { mark } }, spec: { containers: [container] } };
  return { spec: { template } };
}

function readyCondition(isReady: boolean): object {
  return { type: "Ready", status: isReady ? "True" : "False" };
}

async function expectPublished(world: ControllerWorld): Promise<void> {
  const rules = profileNamed("1.33").endpoints;
  const pods = (await world.list(podsPath)).map((pod) => ownedPodKind.project(pod));
  const nodes = (await world.list("/api/v1/nodes")).map((node) => nodeKind.project(node));
  const nodeNamed = (name: string) => nodes.find(({ metadata }) => metadata.name === name);
  const all = (await world.list(services)).map((one) => serviceKind.project(one));
  const expected = all.map((one) => ({
    name: one.metadata.name,
    subsets: subsetsOf(one, selected(one, pods), rules),
  }));
  const published = (await world.list(endpoints)).map((one) => ({
    name: one.metadata.name,
    subsets: listAt(one, "subsets"),
  }));
  expect(published).toEqual(expected);
  const allSlices = await world.list(slices);
  for (const one of all) {
    const { groups, withoutNode } = sliceGroups({
      service: one,
      pods: selected(one, pods),
      addressType: "IPv4",
      nodeNamed,
      hash: rules.hash,
    });
    expect(withoutNode).toEqual([]);
    const wanted = groups.filter((group) => group.endpoints.length > 0);
    expect(contentsOf(allSlices, one)).toEqual(
      Object.fromEntries(wanted.map((group) => [portsKey(group.ports), namesIn(group.endpoints)])),
    );
  }
  const owners = new Set(all.map(({ metadata }) => metadata.name));
  expect(allSlices.filter((slice) => !owners.has(serviceNameOf(slice)))).toEqual([]);
}

function selected({ selector = {} }: Service, pods: readonly OwnedPod[]): readonly OwnedPod[] {
  return pods.filter(({ metadata }) =>
    Object.entries(selector).every(([name, value]) => metadata.labels[name] === value),
  );
}

/**
 * The content of the slices of a service, by ports; a slice without endpoints must be the only one.
 */
function contentsOf(allSlices: readonly KubeObject[], service: Service): object {
  const own = allSlices.filter((slice) => serviceNameOf(slice) === service.metadata.name);
  const contents: Record<string, string[]> = {};
  for (const slice of own.map((one) => readSlice(wholeSlices.project(one)))) {
    expect(slice.endpoints.length).toBeLessThanOrEqual(maxEndpointsPerSlice);
    expect(slice.endpoints.length > 0 || own.length === 1).toBe(true);
    expect(slice.object.metadata.labels).toEqual(labelsFor(service));
    if (slice.endpoints.length === 0) continue;
    const key = portsKey(slice.ports);
    contents[key] = [...(contents[key] ?? []), ...namesIn(slice.endpoints)].sort();
  }
  return contents;
}

/** Which endpoints, and in which state. */
function namesIn(list: ReturnType<typeof readSlice>["endpoints"]): string[] {
  return list
    .map(({ targetRef, addresses, conditions }) =>
      [targetRef.uid, ...addresses, ...Object.values(conditions)].join(" "),
    )
    .sort();
}

async function expectWorkloads(world: ControllerWorld): Promise<void> {
  const pods = await world.list(podsPath);
  const sets = await world.list(replicaSets);
  const all = await world.list(deployments);
  const known = new Set([...sets, ...all].map(({ metadata }) => metadata.uid));
  const orphans = [...pods, ...sets].filter(
    ({ metadata }) => !(metadata.ownerReferences ?? []).every(({ uid }) => known.has(uid)),
  );
  expect(orphans).toEqual([]);
  for (const one of all) {
    const replicas = numberAt(one, "spec", "replicas");
    const own = sets.filter(({ metadata }) =>
      metadata.ownerReferences?.some(({ uid }) => uid === one.metadata.uid),
    );
    const active = own.filter((set) => (numberAt(set, "spec", "replicas") ?? 0) > 0);
    expect(active.map((set) => numberAt(set, "spec", "replicas"))).toEqual(
      replicas === 0 ? [] : [replicas],
    );
    const reasons = objectsAt(one, "status", "conditions").map((each) => textAt(each, "reason"));
    expect([one.metadata.name, numberAt(one, "status", "replicas") ?? 0, reasons[1]]).toEqual([
      one.metadata.name,
      replicas,
      expect.stringMatching(/NewReplicaSetAvailable|ReplicaSetUpdated/),
    ]);
  }
}

function serviceNameOf(slice: KubeObject): string {
  return slice.metadata.labels?.["kubernetes.io/service-name"] ?? "";
}
