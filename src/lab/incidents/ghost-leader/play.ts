// The incident `ghost-leader`: the leader of an ingress runs on a machine that was taken out of the
// cluster. It goes on renewing its lock, so no other replica ever leads; and because its revision has
// been replaced, it finds no pod like itself and writes empty statuses. Lockstep's replicas, among
// which there is such a ghost too, name both and depose their own.
import { randomBetween, randomInt } from "../../../environment/random.ts";
import type { Pod } from "../../../kube/kinds/pod.ts";
import type { Incident, IncidentFindings, IncidentOptions, TimelineEntry } from "../incident.ts";
import type { OpenStage } from "../stage.ts";
import { ghostFindings } from "./ghost-findings.ts";
import type { GhostLook, GhostMeasured, GhostRepair, Ghosts } from "./ghost-measured.ts";
import { GhostScene } from "./ghost-scene.ts";
import { editLock, ingressHost, podsBy, stockApp } from "./ingresses.ts";
import { compressed, type GhostSettings, usual } from "./settings.ts";

export type GhostLeaderOptions = IncidentOptions & Partial<GhostSettings>;

export const ghostLeader: Incident = {
  name: "ghost-leader",
  summary: "every Ingress shows Initializing and has an empty status; traffic works",
  cause:
    "only the leader writes status, and a pod that no longer exists in the API renews the lock; it " +
    "runs on a machine that was removed from the cluster but never switched off",
  fix: "edit the lock to name a pod that exists, then find and stop that machine",
  play: (open, options) => playGhostLeader(open, options),
};

/** In real time with shorter times, unless others are given. */
export async function playGhostLeader(
  open: OpenStage,
  { fix, ...chosen }: GhostLeaderOptions,
): Promise<IncidentFindings> {
  return open(async (stage) => {
    const settings = { ...usual, ...(stage.mode === "live" && compressed), ...chosen };
    const timeline: TimelineEntry[] = [];
    const note = (text: string): void => {
      timeline.push({ atMs: stage.now(), text });
      stage.say(text);
    };
    const scene = await GhostScene.open(stage, settings);
    try {
      note("both ingresses have a leader, and every status names an address");
      const measured = await play(scene, { ...settings, fix }, note);
      return { timeline, ...ghostFindings(measured, settings) };
    } finally {
      await scene.stop();
    }
  });
}

type Settings = GhostSettings & IncidentOptions;

async function play(
  scene: GhostScene,
  settings: Settings,
  note: (text: string) => void,
): Promise<GhostMeasured> {
  const { stage } = scene;
  // Nothing happens in step with the syncs of the leader.
  const anyMoment = () => randomBetween(stage.random, 0, settings.statusUpdateIntervalMs);
  await stage.sleep(anyMoment());
  const ghosts = await makeGhosts(scene, note);
  await stage.sleep(settings.untilReleaseMs + anyMoment());
  await scene.release("2");
  const releasedAtMs = stage.now();
  note("a new release of both ingresses: no living pod has the old hash any more");
  await stage.sleep(settings.heldMs);
  const held = await lookAtGhost(scene, ghosts);
  await scene.restartStock();
  note("people have restarted every pod of the stock ingress");
  await stage.sleep(settings.heldMs + anyMoment());
  const afterRestart = await lookAtGhost(scene, ghosts);
  const fixed = settings.fix ? await repair(scene, settings, ghosts, note) : undefined;
  return {
    ghosts,
    releasedAtMs,
    endedAtMs: stage.now(),
    held,
    afterRestart,
    fixed,
    named: [...scene.named],
    boards: scene.boards,
    locks: scene.locks,
  };
}

/** The machines of both leaders leave the cluster, and nobody tells what runs on them. */
async function makeGhosts(scene: GhostScene, note: (text: string) => void): Promise<Ghosts> {
  const stock = scene.stock
    .running()
    .find(({ pod }) => pod.metadata.name === scene.locks.stock.record?.holder);
  const lockstep = scene.lockstep
    .running()
    .find(({ container }) => container.identity === scene.locks.lockstep.record?.holder);
  if (stock === undefined || lockstep === undefined) throw new Error("a lock has no living holder");
  const nodes = new Set([stock.pod.nodeName, lockstep.pod.nodeName]);
  note(`taken out of the cluster, with all that runs on them: ${[...nodes].join(", ")}`);
  await scene.removeMachines(nodes);
  note("the API has forgotten the pods of these machines");
  const goneAtMs = ({ metadata }: Pod) => scene.goneAtMs.get(metadata.name) ?? scene.stage.now();
  return {
    stock: { identity: stock.pod.metadata.name, goneAtMs: goneAtMs(stock.pod) },
    lockstep: { identity: lockstep.container.identity, goneAtMs: goneAtMs(lockstep.pod) },
    nodes,
  };
}

/** What people could look at while it lasted. */
async function lookAtGhost(scene: GhostScene, ghosts: Ghosts): Promise<GhostLook> {
  const { stage, client, boards } = scene;
  const { network } = stage.environmentOf("user");
  const live = scene.liveStock();
  const believes = (text: string): boolean =>
    text.includes("leader elected") && text.includes(ghosts.stock.identity);
  let answered = 0;
  for (const { container } of live) {
    const headers = { host: ingressHost(stockApp.className, 1) };
    const url = `http://${container.address}/`;
    const response = await network.request({ method: "GET", url, headers });
    if (response.status === 200) answered += 1;
    for await (const _ of response.body);
  }
  return {
    atMs: stage.now(),
    empty: boards.stock.empty,
    total: boards.stock.total,
    podsOfHolder: (await podsBy(client, `metadata.name=${ghosts.stock.identity}`)).length,
    replicas: live.length,
    believers: live.filter(({ container }) =>
      container.klog.lines().some(({ text }) => believes(text)),
    ).length,
    requests: live.length,
    answered,
  };
}

/** The lock names a live pod by hand; later the stray machines are found and stopped. */
async function repair(
  scene: GhostScene,
  { statusUpdateIntervalMs, electionTtlMs }: Settings,
  ghosts: Ghosts,
  note: (text: string) => void,
): Promise<GhostRepair> {
  const { stage, client } = scene;
  const live = scene.liveStock();
  const chosen = live[randomInt(stage.random, live.length)]?.pod.metadata.name ?? "";
  const ghost = scene.stock
    .running()
    .find(({ pod }) => pod.metadata.name === ghosts.stock.identity);
  const leader = ghost?.container.leader;
  const triesBefore = leader?.counts.held ?? 0;
  const editedAtMs = stage.now();
  await editLock(client, scene.stockLock, chosen);
  note(`the lock is edited by hand to name ${chosen}`);
  while (leader?.isLeading && stage.now() - editedAtMs < electionTtlMs) await stage.sleep(100);
  const displacedMs = leader?.isLeading === false ? stage.now() - editedAtMs : undefined;
  await stage.sleep(3 * statusUpdateIntervalMs);
  const triesAfterEdit = (leader?.counts.held ?? 0) - triesBefore;
  const stoppedAtMs = stage.now();
  for (const node of ghosts.nodes) {
    await scene.stock.stopOn(node);
    await scene.lockstep.stopOn(node);
  }
  note("the stray machines are found and stopped");
  await stage.sleep(2 * statusUpdateIntervalMs);
  return { editedAtMs, stoppedAtMs, displacedMs, triesAfterEdit };
}
