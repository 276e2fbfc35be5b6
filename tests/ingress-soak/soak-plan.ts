// The faults of one run, drawn from its seed. Beside faults there is the ordinary life of pods:
// releases, crashes and deletions never stop. Every fault has ended when the plan is quiet, except
// machines that died.
import { type Random, randomBetween } from "../../src/environment/random.ts";
import type { Fault, FaultPlan } from "../../src/simulation/faults.ts";
import { pick } from "../reflector/reflector-pick.ts";
import { down, laggingCache, stalledWatches } from "../reflector/reflector-server-faults.ts";
import type { Effect } from "./soak-disturbances.ts";
import type { SoakWorld } from "./soak-world.ts";

type Draw = (random: Random, world: SoakWorld) => Effect;

interface Kind {
  readonly draw: Draw;
  /** The longest it lasts; 0 for what happens in an instant. */
  readonly longestMs: number;
}

export const quietAfterMs = 110_000;

/** So many of each, at times drawn evenly. */
const faultsEach = 7;
const actsEach = 12;

const anHour = 3_600_000;

/** Longer than a watch needs to be known as stale. */
const long = 120_000;
const short = 20_000;

/** The parts that may break; pods come, go and die with each of them. */
export type SoakTheme = "control plane" | "machines" | "everything";

export function drawPlan(random: Random, world: SoakWorld, theme: SoakTheme): FaultPlan {
  const faults: Fault[] = [];
  if (random.next() < 0.5) faults.push(controllersBehind(random, world));
  const draw = (kinds: readonly Kind[], count: number): void => {
    for (let drawn = 0; drawn < count; drawn += 1) {
      const { draw: effect, longestMs } = pick(random, kinds);
      const atMs = randomBetween(random, 0, quietAfterMs);
      const untilMs = Math.min(quietAfterMs, atMs + randomBetween(random, 0, longestMs));
      faults.push({ atMs, untilMs, ...effect(random, world) });
    }
  };
  draw(faultsOf(theme), faultsEach);
  draw(actKinds, actsEach);
  return { faults: faults.sort((one, other) => one.atMs - other.atMs), quietAfterMs };
}

const actKinds: readonly Kind[] = [
  { draw: release, longestMs: 3_000 },
  { draw: release, longestMs: 3_000 },
  { draw: deleteAll, longestMs: 0 },
  { draw: crash, longestMs: 0 },
  { draw: silentDeath, longestMs: short },
];

const controlPlaneFaults: readonly Kind[] = [
  { draw: frozenWatches, longestMs: long },
  { draw: cacheBehind, longestMs: long },
  { draw: brokenWatches, longestMs: 0 },
  { draw: podsSilent, longestMs: long },
  { draw: podsSilent, longestMs: long },
  { draw: noWayToServer, longestMs: long },
  { draw: serverDown, longestMs: short },
  { draw: lateHeartbeats, longestMs: long },
  { draw: slander, longestMs: 0 },
];

const machineFaults: readonly Kind[] = [
  { draw: clusterUnreachable, longestMs: long },
  { draw: lateHeartbeats, longestMs: long },
  { draw: nodeDies, longestMs: 0 },
  { draw: addressesPassOn, longestMs: 0 },
  { draw: killed("lockstep"), longestMs: short },
  { draw: killed("proxy"), longestMs: 2_000 },
];

function faultsOf(theme: SoakTheme): readonly Kind[] {
  switch (theme) {
    case "control plane":
      return controlPlaneFaults;
    case "machines":
      return machineFaults;
    case "everything":
      return [...controlPlaneFaults, ...machineFaults];
  }
}

/** The endpoint controller gets none of its writes done: slices are as old as the fault. */
function controllersBehind(random: Random, world: SoakWorld): Fault {
  const cluster = pick(random, world.clusters);
  const match = { user: "controllers", resource: "endpointslices" };
  let remove = (): void => undefined;
  return {
    atMs: randomBetween(random, 0, short),
    untilMs: quietAfterMs,
    describe: `the endpoint controller of ${cluster.name} gets nothing written`,
    begin: () => {
      const verbs = ["create", "update", "patch", "delete"] as const;
      const rule = { match: { ...match, verbs }, errors: { rate: 1, code: 500 } } as const;
      remove = cluster.server.addRule(rule);
    },
    end: () => remove(),
  };
}

/** A pod more, and after a while one less. */
function release(random: Random, world: SoakWorld): Effect {
  const { cluster, service } = pick(random, world.shops);
  const choice = random.next();
  const onTerm = pick(random, ["exit", "drain", "ignore"] as const);
  return {
    describe: `${cluster.name} releases a pod of ${service}`,
    begin: () => world.do(() => world.addPod(cluster, service, choice, onTerm)),
    end: () => world.do(() => world.deleteOldest(cluster, service)),
  };
}

/** All pods of a service in a cluster are replaced at once. */
function deleteAll(random: Random, world: SoakWorld): Effect {
  const { cluster, service } = pick(random, world.shops);
  const choice = random.next();
  return {
    describe: `${cluster.name} replaces every pod of ${service}`,
    begin: () =>
      world.do(async () => {
        const pods = world.podsOf(cluster, service);
        for (const _ of pods) await world.addPod(cluster, service, choice, "ignore");
        for (const pod of pods) await cluster.deletePod(pod);
      }),
    end: () => undefined,
  };
}

function crash(random: Random, world: SoakWorld): Effect {
  const { cluster, service } = pick(random, world.shops);
  const choice = random.next();
  return {
    describe: `the program of a pod of ${service} in ${cluster.name} falls over`,
    begin: () => world.crash(cluster, service, choice),
    end: () => undefined,
  };
}

/** The kubelet cannot say that the pod's program has died. */
function silentDeath(random: Random, world: SoakWorld): Effect {
  const { cluster, service } = pick(random, world.shops);
  const choice = random.next();
  let node = "";
  return {
    describe: `a pod of ${service} in ${cluster.name} dies without any sign`,
    begin: ({ network }) => {
      node = world.crash(cluster, service, choice)?.node ?? "";
      if (node !== "") network.partition(node, cluster.machine);
    },
    end: ({ network }) => {
      if (node !== "") network.heal(node, cluster.machine);
    },
  };
}

function frozenWatches(random: Random, world: SoakWorld): Effect {
  const cluster = pick(random, world.clusters);
  return world.disturbing([cluster], stalledWatches(cluster.server, "lockstep"));
}

function cacheBehind(random: Random, world: SoakWorld): Effect {
  const cluster = pick(random, world.clusters);
  const lagMs = pick(random, [1_000, 30_000, anHour]);
  return world.disturbing([cluster], laggingCache(cluster.server, lagMs));
}

function brokenWatches(random: Random, world: SoakWorld): Effect {
  const cluster = pick(random, world.clusters);
  return world.disturbing([cluster], {
    describe: `the watches of ${cluster.name} break`,
    begin: () => cluster.server.resetWatches(),
    end: () => undefined,
  });
}

/** Pods can neither be listed nor watched, and everything else can. */
function podsSilent(random: Random, world: SoakWorld): Effect {
  const cluster = pick(random, world.clusters);
  let remove = (): void => undefined;
  const effect = {
    describe: `${cluster.name} tells Lockstep nothing of pods`,
    begin: () => {
      const match = { user: "lockstep", resource: "pods" };
      remove = cluster.server.addRule({ match, errors: { rate: 1, code: 500 } });
      cluster.server.resetWatches();
    },
    end: () => remove(),
  };
  return world.disturbing([cluster], effect, "pods");
}

function noWayToServer(random: Random, world: SoakWorld): Effect {
  const cluster = pick(random, world.clusters);
  const { machine } = cluster;
  return world.disturbing([cluster], {
    describe: `the edge and ${machine} do not reach each other`,
    begin: ({ network }) => network.partition("edge", machine),
    end: ({ network }) => network.heal("edge", machine),
  });
}

function serverDown(random: Random, world: SoakWorld): Effect {
  const cluster = pick(random, world.clusters);
  const how = pick(random, ["stop", "crash", "vanish"] as const);
  return world.disturbing([cluster], down(cluster.server, how));
}

/** The API server and every node. */
function clusterUnreachable(_: Random, world: SoakWorld): Effect {
  const { west } = world;
  const machines = [west.machine, ...west.nodes];
  return world.disturbing([west], {
    describe: "west cannot be reached",
    begin: ({ network }) => {
      for (const machine of machines) network.partition("edge", machine);
      world.setReachable(west.nodes, false);
    },
    end: ({ network }) => {
      for (const machine of machines) network.heal("edge", machine);
      world.setReachable(west.nodes, true);
    },
  });
}

/** The node controller takes the node for dead. */
function lateHeartbeats(random: Random, world: SoakWorld): Effect {
  const cluster = pick(random, world.clusters);
  const node = pick(random, cluster.nodes);
  return {
    describe: `${node} does not report`,
    begin: () => cluster.kubelets.get(node)?.pauseHeartbeat(),
    end: () => cluster.kubelets.get(node)?.resumeHeartbeat(),
  };
}

/** Silently and permanently; the first node of a cluster stays. */
function nodeDies(random: Random, world: SoakWorld): Effect {
  const cluster = pick(random, world.clusters);
  const node = cluster.nodes.at(-1);
  return {
    describe: `${node} is gone`,
    begin: () => world.loseNode(cluster, node ?? ""),
    end: () => undefined,
  };
}

/** The API still has the pods of the node, and calls them ready until it is given up. */
function addressesPassOn(random: Random, world: SoakWorld): Effect {
  const cluster = pick(random, world.clusters);
  const node = cluster.nodes.at(-1) ?? "";
  return {
    describe: `${node} is gone, and its addresses pass to other pods`,
    begin: () => world.do(() => world.passAddressesOn(cluster, node)),
    end: () => undefined,
  };
}

function slander(random: Random, world: SoakWorld): Effect {
  const { cluster, service } = pick(random, world.shops);
  return {
    describe: `all pods of ${service} in ${cluster.name} are marked as unready by mistake`,
    begin: () =>
      world.do(async () => {
        await Promise.all(world.podsOf(cluster, service).map((pod) => cluster.slander(pod)));
      }),
    end: () => undefined,
  };
}

function killed(program: "lockstep" | "proxy"): Draw {
  return (_, world) => {
    const effect = {
      describe: `${program} is killed`,
      begin: () => world.kill(program),
      end: () => world.start(program),
    };
    return program === "lockstep" ? world.disturbing(world.clusters, effect) : effect;
  };
}
