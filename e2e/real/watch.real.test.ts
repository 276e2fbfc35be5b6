// `lockstep watch` and `lockstep record` beside a real control plane, with the rights that
// deploy/rbac/observer.yaml gives and no others: every pod that a release replaces is one leave and one
// join, seen at each hop, also when the API server is killed in the middle of it.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { JourneyRecord } from "../../src/timeline/journey-record.ts";
import { type ShopPod, ShopsWorld } from "../shops-world.ts";
import { realProgram } from "./harness/real-binaries.ts";
import { type RealCluster, startRealCluster } from "./harness/real-cluster.ts";
import { type RealControlPlane, writeKubeconfig } from "./harness/real-control-plane.ts";

interface JsonLine {
  readonly type: string;
  readonly journey?: JourneyRecord;
  readonly clusters?: readonly { readonly state: string; readonly lost: readonly string[] }[];
}

it("shows each change of a release once, at each hop, also across a killed API server", async () => {
  const cluster = await startRealCluster({ name: "real", nodes: 2 });
  const world = await ShopsWorld.startIn(cluster, { shops: 3, replicas: 3 });
  try {
    const kubeconfig = observerKubeconfig(cluster.plane);
    const recording = join(world.folder, "recording.jsonl");
    const record = new LockstepProcess("record", "--kubeconfig", kubeconfig, "--out", recording);
    world.atStop(() => record.end());
    const watch = new LockstepProcess("watch", "--kubeconfig", kubeconfig, "--json");
    world.atStop(() => watch.end());
    await world.until("the cluster is watched", () =>
      watch.lines().some(({ clusters = [] }) => clusters.some(({ state }) => state === "watching")),
    );
    const first = await world.pods();
    await world.roll("2");
    const second = await world.released("2");
    const firstChanges = replacing([first, second]);
    await world.until(
      "every change of the first release is over",
      () => changesOf(watch).length >= firstChanges.length,
    );
    expect(changesOf(watch)).toEqual(firstChanges);
    await world.roll("3");
    await world.until("the second release is under way", () => changesOf(watch).length > 18);
    await restartServer(cluster, world);
    const third = await world.released("3");
    const expected = replacing([first, second, third]);
    await world.until("every change of the second is over", () => changesOf(watch).length >= 36);
    expect(changesOf(watch)).toEqual(expected);
    const lost = watch.lines().flatMap(({ clusters = [] }) => clusters.flatMap((one) => one.lost));
    expect(lost).toEqual([]);
    await watch.end();
    expect(watch.lines().at(-1)?.type).toBe("summary");
    await record.end();
    const recorded = readFileSync(recording, "utf8");
    const seen = [...first, ...second, ...third].filter(({ uid }) => recorded.includes(uid));
    expect(seen).toHaveLength(first.length + second.length + third.length);
  } finally {
    await world.stop();
  }
});

/** As an administrator makes one: the role is applied, and a token asked for. */
function observerKubeconfig(plane: RealControlPlane): string {
  const kubectl = (...args: readonly string[]): string => {
    const options = { encoding: "utf8" } as const;
    const all = ["--kubeconfig", plane.kubeconfig, ...args];
    const { status, stdout, stderr } = spawnSync(realProgram("kubectl"), all, options);
    if (status !== 0) throw new Error(`kubectl ${args.join(" ")}: ${stderr}`);
    return stdout.trim();
  };
  kubectl("apply", "-f", "deploy/rbac/observer.yaml");
  const token = kubectl("-n", "lockstep", "create", "token", "lockstep-observer");
  return writeKubeconfig(plane.folder, "observer", plane, { token });
}

/** Silently, and started again at once; it refuses every client until it has read its rules. */
async function restartServer({ plane }: RealCluster, world: ShopsWorld): Promise<void> {
  const [server] = plane.servers;
  if (server === undefined) throw new Error("there is no API server");
  server.process.kill();
  await world.until("the API server is gone", () => !server.process.isRunning);
  server.process.restart();
  const answers = () => world.pods().then(isDone, isNotDone);
  await world.until("the API server answers again", answers);
}

const isDone = () => true;
const isNotDone = () => false;

/** The expected changes of the shops, as sorted texts, from the pods and their times. */
function replacing(releases: readonly (readonly ShopPod[])[]): readonly string[] {
  const changes = releases.slice(1).flatMap((after, index) => {
    const before = releases[index] ?? [];
    return [
      ...before.map((pod) => changeText(pod.uid, pod.address, "leave")),
      ...after.map((pod) => changeText(pod.uid, pod.address, "join")),
    ];
  });
  return changes.sort();
}

function changesOf(watch: LockstepProcess): readonly string[] {
  return watch
    .lines()
    .flatMap(({ type, journey }) => (type === "over" && journey !== undefined ? [journey] : []))
    .map(({ podUid, address, direction, outcome, hops }) =>
      changeText(podUid, address, direction, outcome, hops),
    )
    .sort();
}

function changeText(
  podUid: string | null,
  address: string,
  direction: JourneyRecord["direction"],
  outcome: JourneyRecord["outcome"] = "complete",
  hops: readonly Pick<JourneyRecord["hops"][number], "hop" | "state">[] = seenAtEachHop,
): string {
  const seen = hops.map(({ hop, state }) => `${hop} ${state}`).join(", ");
  return `${podUid} ${address} ${direction}: ${outcome}, ${seen}`;
}

const seenAtEachHop = [
  { hop: "pod", state: "shown" },
  { hop: "published", state: "shown" },
] as const;

/** A command as a user starts it. */
class LockstepProcess {
  readonly #child: ChildProcess;
  #output = "";

  constructor(...args: readonly string[]) {
    const line = ["bin/lockstep.mjs", ...args];
    this.#child = spawn(process.execPath, line, { stdio: ["ignore", "pipe", "ignore"] });
    this.#child.stdout?.on("data", (chunk: Buffer) => {
      this.#output += chunk.toString("utf8");
    });
  }

  lines(): readonly JsonLine[] {
    const whole = this.#output.split("\n").slice(0, -1);
    return whole.map((line) => JSON.parse(line) as JsonLine);
  }

  /** Idempotent. */
  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const closed = once(this.#child, "close");
    this.#child.kill("SIGINT");
    await closed;
  }
}
