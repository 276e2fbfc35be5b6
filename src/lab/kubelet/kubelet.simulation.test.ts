// Pods come and go at random, crash, and lose their node, while the API server is slow and fails at
// times. Afterwards the API server, the ledger and a client at each address must agree.
import { expect } from "vitest";
import { inKubeletWorld, type KubeletWorld } from "../../../tests/kubelet/kubelet-world.ts";
import { randomBetween, randomInt } from "../../environment/random.ts";
import { forEachSeed } from "../../simulation/seeds.ts";

const lab = "lab.lockstep.dev/";

/** Longer than the longest grace, and than any wait of a pod that crashes. */
const quietMs = 700_000;

forEachSeed(
  "after quiet a pod is in the API, in the ledger and at its address, or in none of them",
  { seeds: 5 },
  (seed) =>
    inKubeletWorld(
      async (world) => {
        const { simulation, server, addNode } = world;
        const kubelets = [world.kubelet, addNode("node-2")];
        const uids: string[] = [];
        server.faults.setRules([
          { match: {}, latency: { minMs: 0, maxMs: 50 } },
          { match: { userAgent: "node-" }, errors: { rate: 0.1, code: 500 } },
        ]);
        for (let round = 0; round < 30; round += 1) {
          await simulation.sleep(randomBetween(simulation.random, 0, 5_000));
          await actAtRandom(world, uids, kubelets);
        }
        server.faults.setRules([]);
        await simulation.sleep(quietMs);
        const alive = await judge(world);
        expect(alive.api).toEqual(alive.ledger);
        expect(alive.met).toEqual(alive.ledger);
      },
      { seed, reuseAfterMs: seed % 2 === 0 ? 0 : 20_000 },
    ),
);

async function actAtRandom(
  { simulation, createPod, deletePod, seen }: KubeletWorld,
  uids: string[],
  kubelets: readonly KubeletWorld["kubelet"][],
): Promise<void> {
  const { random } = simulation;
  const living = livingPods(seen);
  const [name] = [...living.keys()].slice(randomInt(random, living.size));
  const act = randomInt(random, 10);
  if (act < 5 || name === undefined) {
    const onTerm = ["exit", "drain", "ignore"][randomInt(random, 3)] ?? "drain";
    const annotations = { [`${lab}on-term`]: onTerm, [`${lab}ready-after`]: "500ms" };
    const node = `node-${1 + randomInt(random, 2)}`;
    uids.push(await createPod(`pod-${uids.length}`, { annotations, node }));
  } else if (act < 8) {
    await deletePod(name, act === 5 ? { gracePeriodSeconds: 0 } : {}).catch(whenGone);
  } else {
    const uid = uids[randomInt(random, uids.length)] ?? "";
    for (const kubelet of kubelets) kubelet.crash(uid);
  }
}

/** The observer receives a deletion a little later than it happens. */
function whenGone(error: unknown): void {
  if (!(error instanceof Error && error.message.includes("not found"))) throw error;
}

/** For every address that was ever used, whose it is by each of the three witnesses. */
async function judge({ seen, ledger, ask, simulation }: KubeletWorld) {
  const { clock } = simulation.host("client");
  const api = new Map<string, string>();
  for (const { status, metadata } of livingPods(seen).values()) {
    api.set(String(status["podIP"]), metadata.uid);
  }
  const owners = new Map<string, string>();
  const met = new Map<string, string>();
  for (let host = 1; host <= 60; host += 1) {
    const address = `10.9.0.${host}`;
    const owner = ledger.ownerAt(address, clock.monotonicMs());
    if (owner !== undefined) owners.set(address, owner);
    const answer = await ask(address);
    if (typeof answer === "object" && answer !== null && "uid" in answer) {
      met.set(address, String(answer.uid));
    }
  }
  const lines = (map: Map<string, string>) =>
    [...map].map(([address, uid]) => `${address} ${uid}`).toSorted();
  return { api: lines(api), ledger: lines(owners), met: lines(met) };
}

function livingPods(seen: KubeletWorld["seen"]): Map<string, KubeletWorld["seen"][number]["pod"]> {
  const living = new Map<string, KubeletWorld["seen"][number]["pod"]>();
  for (const { type, pod } of seen) {
    if (type === "deleted") living.delete(pod.metadata.name);
    else living.set(pod.metadata.name, pod);
  }
  return living;
}
