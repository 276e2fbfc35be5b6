// Lockstep beside other ingress controllers, unmodified and with their defaults: one API server, the same
// changes and the same requests for all at once. It runs in a network namespace of its own, where the
// packets of a pod can be dropped and nothing else can be reached.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { BuiltPeer, PeerName } from "../e2e/real/harness/peers.ts";
import { withPart } from "../scripts/docs/marked-part.ts";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import type { PeersMessage, PeersOptions } from "./bench-peers.ts";
import { type Benchmark, CannotMeasureError, type Progress, plain } from "./benchmark.ts";
import { commandText, thisMachine } from "./figures-document.ts";
import { type BenchRun, withNginxRun } from "./nginx-run.ts";
import {
  type PartName,
  type PeersResults,
  partNames,
  peersFigures,
  peersTable,
} from "./peers-figures.ts";
import type { Subject } from "./peers-world.ts";

type BuiltPeers = Readonly<Record<PeerName, BuiltPeer>>;

/** As root; else with a user namespace, in which one is. */
const isolation = ["--net", "--pid", "--fork", "--kill-child", "--mount-proc"];
const ways = [isolation, ["--map-root-user", ...isolation]];
/** Not in place of the shell, which ends with its children's remains where it is the first process. */
const script = 'ip link set lo up && "$@"';

const tablePath = "README.md";

const usualParts = partNames.filter((part) => part !== "cost-5000");

const environment = nodeEnvironment({ log: { level: "warn" } });

export const peersBenchmark: Benchmark = {
  description:
    "Lockstep beside Contour with Envoy and Traefik (needs Go): lag, lost requests, cost",
  hasQuickRun: true,
  parts: partNames,
  async run(progress, { quick, parts = usualParts, writeDocs }) {
    const way = ways.find((flags) => works([...flags, "sh", "-c", "ip link set lo up"]));
    if (way === undefined) {
      throw new CannotMeasureError(
        "a network namespace cannot be made here. That needs root or user namespaces, and the " +
          "programs unshare (util-linux) and ip (iproute2).",
      );
    }
    const built = await builtPeers(progress);
    const beganAt = performance.now();
    const asked = parts.filter((part): part is PartName => isPart(part));
    const results = await withNginxRun(environment, (run) =>
      measured({ way, built, progress, run, options: { parts: asked, quick, folder: run.folder } }),
    );
    const present = Object.entries(built).filter(([, { problem }]) => problem === undefined);
    const titles = new Map<Subject, string>([["lockstep", ownTitle()]]);
    for (const [peer, { version }] of present) titles.set(peer as PeerName, version);
    const absent = new Map(
      Object.values(built).flatMap(({ version, problem }) =>
        problem === undefined ? [] : [[version, problem] as const],
      ),
    );
    const run = { command: commandText("peers", process.argv.slice(3)), machine: thisMachine() };
    if (writeDocs) writeTable(peersTable(results, titles, run));
    const minutes = (performance.now() - beganAt) / 60_000;
    const note = "this run, without what had to be built";
    return { ...peersFigures(results, titles, absent), runMinutes: plain(minutes, "min", note) };
  },
};

function works(unshareArgs: readonly string[]): boolean {
  return spawnSync("unshare", [...unshareArgs], { stdio: "ignore" }).status === 0;
}

function isPart(text: string): text is PartName {
  return partNames.some((one) => one === text);
}

async function builtPeers(progress: Progress): Promise<BuiltPeers> {
  const path = pathToFileURL(resolve("scripts/peer-binaries.mjs")).href;
  const builder: { readonly peerBinaries: (say: Progress) => BuiltPeers } = await import(path);
  return builder.peerBinaries(progress);
}

async function measured(given: {
  readonly way: readonly string[];
  readonly built: BuiltPeers;
  readonly progress: Progress;
  readonly run: BenchRun;
  readonly options: PeersOptions;
}): Promise<PeersResults> {
  const { way, built, progress, run, options } = given;
  const program = fileURLToPath(new URL("./bench-peers.js", import.meta.url));
  const inner = [process.execPath, program, JSON.stringify(options)];
  const child = spawn("unshare", [...way, "sh", "-c", script, "sh", ...inner], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    // Figures that are not a number pass too.
    serialization: "advanced",
    env: { ...process.env, LOCKSTEP_PEERS: JSON.stringify(built) },
  });
  const stop = (): void => void child.kill("SIGKILL");
  run.signal.addEventListener("abort", stop, { once: true });
  try {
    return await resultsOf(child, progress);
  } finally {
    run.signal.removeEventListener("abort", stop);
    run.signal.throwIfAborted();
  }
}

async function resultsOf(child: ChildProcess, progress: Progress): Promise<PeersResults> {
  const exited = once(child, "exit");
  let results: PeersResults | undefined;
  child.on("message", (message: PeersMessage) => {
    if (message.kind === "progress") progress(message.step);
    else results = message.results;
  });
  await exited;
  if (results === undefined) throw new Error("the benchmark ended before it had results");
  return results;
}

function writeTable(table: string): void {
  const document = withPart(readFileSync(tablePath, "utf8"), "bench peers", table);
  if (document === undefined) throw new Error(`${tablePath} has no part for the table`);
  writeFileSync(tablePath, document);
}

function ownTitle(): string {
  const { version }: { version: string } = JSON.parse(readFileSync("package.json", "utf8"));
  return `Lockstep ${version}`;
}
