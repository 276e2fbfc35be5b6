// Steps of pods in a random history. No kubelet runs them, so their status is written as a kubelet
// would. The history sets the times of their readiness, long ago or far ahead, so that both worlds
// publish the same.
import { randomInt } from "../../../src/environment/random.ts";
import { chance, type Move, nodes, type Operation, oneOf, type Scene, type Step } from "./scene.ts";

/** It never exists. */
const missingNode = "node-missing";

const labels: readonly object[] = [
  { app: "a" },
  { app: "a", tier: "x" },
  { app: "a", tier: "y" },
  { app: "b" },
  { app: "b", tier: "y" },
  {},
];

const containers: readonly object[] = [
  { name: "main", image: "main:1", ports: [{ name: "http", containerPort: 8080 }] },
  { name: "main", image: "main:1", ports: [{ name: "http", containerPort: 8081 }] },
  {
    name: "main",
    image: "main:1",
    ports: [
      { name: "http", containerPort: 8080 },
      { name: "dns", containerPort: 53, protocol: "UDP" },
    ],
  },
  { name: "main", image: "main:1" },
];

/** One that runs beside the others, and one that has ended when they start. */
const initContainers: readonly object[] = [
  {
    name: "side",
    image: "side:1",
    restartPolicy: "Always",
    ports: [{ name: "side", containerPort: 15_001 }],
  },
  { name: "first", image: "first:1", ports: [{ name: "side", containerPort: 15_002 }] },
];

export const podMoves: readonly Move[] = [
  { weight: 24, make: create },
  { weight: 20, make: start },
  { weight: 12, make: turn },
  { weight: 5, make: relabel },
  { weight: 2, make: annotate },
  { weight: 3, make: moveAddress },
  { weight: 4, make: end },
  { weight: 6, make: leave },
  { weight: 6, make: vanish },
];

/** Addresses are used again: by pods whose predecessors are gone, and now and then by two at once. */
export function someAddress(scene: Scene): string {
  const used = [...scene.pods.values()].flatMap(({ address }) => address ?? []);
  if (used.length > 0 && chance(scene.random, 0.1)) return oneOf(scene.random, used);
  return `10.201.${1 + randomInt(scene.random, 3)}.${1 + randomInt(scene.random, 250)}`;
}

/** A time that no other change of the history has. */
export function someTime(scene: Scene): string {
  scene.counter += 1;
  const year = chance(scene.random, 0.8) ? 2020 : 2090;
  return new Date(Date.UTC(year, 0, 1) + scene.counter * 1000).toISOString().replace(".000Z", "Z");
}

/**
 * A pod comes as one request and starts with another. While a service may select it these are two
 * steps, since what a controller sees in between is up to chance; before, several come and start.
 */
function create(scene: Scene): Step {
  const { random, services } = scene;
  const isWatched = [...services.values()].some(({ hasSelector }) => hasSelector);
  const count = isWatched ? 1 : 1 + randomInt(random, 4);
  const steps = Array.from({ length: count }, () => createOne(scene, !isWatched));
  return {
    title: steps.map(({ title }) => title).join("; "),
    operations: steps.flatMap(({ operations }) => operations),
  };
}

function createOne(scene: Scene, mayStart: boolean): Step {
  const { random, namespace, pods } = scene;
  scene.counter += 1;
  const name = `pod-${scene.counter}`;
  const hasNode = chance(random, 0.95);
  const isNodeMissing = scene.hasMissingNode && chance(random, 0.2);
  const usual = nodes.filter(({ zone }) => zone !== undefined || !scene.hasTopology);
  const node = isNodeMissing ? missingNode : oneOf(random, usual).name;
  const spec = {
    containers: [oneOf(random, containers)],
    ...(chance(random, 0.2) ? { initContainers: [oneOf(random, initContainers)] } : {}),
    ...(hasNode ? { nodeName: node } : {}),
    ...(chance(random, 0.2) ? { hostname: `host-${randomInt(random, 3)}` } : {}),
    ...(chance(random, 0.2) ? { subdomain: oneOf(random, ["api", "db", "web"]) } : {}),
    ...(chance(random, 0.1) ? { readinessGates: [{ conditionType: "example.org/gate" }] } : {}),
    ...(chance(random, 0.1) ? { restartPolicy: oneOf(random, ["OnFailure", "Never"]) } : {}),
  };
  const metadata = { name, labels: oneOf(random, labels) };
  const post: Operation = {
    method: "POST",
    target: `/api/v1/namespaces/${namespace}/pods`,
    body: { apiVersion: "v1", kind: "Pod", metadata, spec },
  };
  pods.set(name, { address: undefined, isReady: false, isLeaving: false, hasNode });
  const started = mayStart && hasNode && chance(random, 0.9) ? startOf(scene, name) : undefined;
  return {
    title: `pod ${name} ${JSON.stringify({ ...metadata, ...spec })}, ${started?.title ?? "new"}`,
    operations: [post, ...(started?.operations ?? [])],
  };
}

/** A pod that has no address yet gets one. */
function start(scene: Scene): Step | undefined {
  const names = [...scene.pods].flatMap(([name, { address, hasNode }]) =>
    address === undefined && hasNode ? [name] : [],
  );
  return names.length === 0 ? undefined : startOf(scene, oneOf(scene.random, names));
}

function startOf(scene: Scene, name: string): Step | undefined {
  const pod = scene.pods.get(name);
  if (pod === undefined) return undefined;
  const address = someAddress(scene);
  const isReady = chance(scene.random, 0.7);
  scene.pods.set(name, { ...pod, address, isReady });
  return {
    title: `pod ${name} starts, ${isReady ? "ready" : "not ready"}, at ${address}`,
    operations: [statusOf(scene, name, { phase: "Running", ...addresses(scene, address) })],
  };
}

/** Becomes ready or stops being it; at times without saying when. */
function turn(scene: Scene): Step | undefined {
  const name = existing(scene);
  const pod = name === undefined ? undefined : scene.pods.get(name);
  if (name === undefined || pod?.address === undefined) return undefined;
  scene.pods.set(name, { ...pod, isReady: !pod.isReady });
  const operation = statusOf(scene, name, { phase: "Running" });
  return {
    title: `pod ${name} becomes ${pod.isReady ? "unready" : "ready"}`,
    operations: [operation],
  };
}

function relabel(scene: Scene): Step | undefined {
  const chosen = oneOf(scene.random, labels);
  return patched(scene, "labels", { metadata: { labels: { app: null, tier: null, ...chosen } } });
}

function annotate(scene: Scene): Step | undefined {
  return patched(scene, "annotations", { metadata: { annotations: { n: someTime(scene) } } });
}

function moveAddress(scene: Scene): Step | undefined {
  const name = existing(scene);
  const pod = name === undefined ? undefined : scene.pods.get(name);
  if (name === undefined || pod?.address === undefined) return undefined;
  const address = someAddress(scene);
  scene.pods.set(name, { ...pod, address });
  return {
    title: `pod ${name} has the address ${address}`,
    operations: [statusOf(scene, name, { phase: "Running", ...addresses(scene, address) })],
  };
}

/**
 * No controller takes this for a change, so that it shows at the next sync; where a node is missing
 * that may be any time.
 */
function end(scene: Scene): Step | undefined {
  const name = existing(scene);
  if (name === undefined || scene.hasMissingNode) return undefined;
  const phase = oneOf(scene.random, ["Succeeded", "Failed"]);
  // An ended pod does not begin again, so no other move may find it.
  scene.pods.delete(name);
  const target = `${podPath(scene, name)}/status`;
  return {
    title: `pod ${name} is ${phase}`,
    operations: [{ method: "PATCH", target, body: { status: { phase } } }],
  };
}

function leave(scene: Scene): Step | undefined {
  const name = existing(scene);
  const pod = name === undefined ? undefined : scene.pods.get(name);
  if (name === undefined || pod === undefined || pod.isLeaving || !pod.hasNode) return undefined;
  scene.pods.set(name, { ...pod, isLeaving: true });
  return {
    title: `pod ${name} is to end`,
    operations: [
      { method: "DELETE", target: podPath(scene, name), body: { gracePeriodSeconds: 3600 } },
    ],
  };
}

/**
 * In two events, unless it is leaving already: a controller that fails between them may be late for
 * long.
 */
function vanish(scene: Scene): Step | undefined {
  const name = existing(scene);
  if (name === undefined) return undefined;
  if (scene.hasMissingNode && scene.pods.get(name)?.isLeaving !== true) return undefined;
  scene.pods.delete(name);
  return {
    title: `pod ${name} is gone`,
    operations: [
      { method: "DELETE", target: podPath(scene, name), body: { gracePeriodSeconds: 0 } },
    ],
    // The pod is first marked as leaving and then gone: a quick controller writes for each.
    isCounted: false,
  };
}

function patched(scene: Scene, what: string, body: object): Step | undefined {
  const name = existing(scene);
  if (name === undefined) return undefined;
  return {
    title: `pod ${name}, ${what}: ${JSON.stringify(body)}`,
    operations: [{ method: "PATCH", target: podPath(scene, name), body }],
  };
}

function statusOf(scene: Scene, name: string, status: object): Operation {
  const isReady = scene.pods.get(name)?.isReady === true;
  const lastTransitionTime = chance(scene.random, 0.9) ? someTime(scene) : null;
  const ready = { type: "Ready", status: isReady ? "True" : "False", lastTransitionTime };
  const conditions = [{ type: "PodScheduled", status: "True", lastTransitionTime: null }, ready];
  const hasCondition = isReady || chance(scene.random, 0.8);
  return {
    method: "PATCH",
    target: `${podPath(scene, name)}/status`,
    body: { status: { ...status, conditions: hasCondition ? conditions : [] } },
  };
}

function addresses({ random }: Scene, address: string | undefined): object {
  if (address === undefined) return {};
  const six = `fd00:201::${address.split(".").slice(2).join(":")}`;
  const podIPs = chance(random, 0.3) ? [{ ip: address }, { ip: six }] : [{ ip: address }];
  return { podIP: address, podIPs };
}

function podPath({ namespace }: Scene, name: string): string {
  return `/api/v1/namespaces/${namespace}/pods/${name}`;
}

function existing({ pods, random }: Scene): string | undefined {
  return pods.size === 0 ? undefined : oneOf(random, [...pods.keys()]);
}
