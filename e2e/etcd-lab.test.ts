// `lockstep lab --store etcd`: API servers that are processes of their own, one etcd below them, and
// kill -9 of each of these under load.
import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ListedServers } from "../src/lab/incidents/apiserver-fight/listed-servers.ts";
import { clientOf, LedgerWatcher, LedgerWriter, storedLedger } from "./etcd-clients.ts";
import { EtcdWorld, withoutEtcd } from "./etcd-world.ts";
import { isRunning } from "./is-running.ts";
import { type LabProcess, runLockstep, startLabProcess, stopAllLabs } from "./lab-process.ts";
import { useOwnTemporaryFolder } from "./own-temporary-folder.ts";

const writers = 6;

describe.skipIf(withoutEtcd !== false)("a lab on etcd", () => {
  useOwnTemporaryFolder({ inMemory: true });
  let world: EtcdWorld;
  beforeAll(async () => {
    world = await EtcdWorld.start();
  });
  afterAll(() => world?.stop());
  afterEach(stopAllLabs);

  it("goes on when any server or etcd is killed, and loses nothing acknowledged", async () => {
    const lab = await startLabProcess("--apiservers", "3", "--store", "etcd");
    const { environment } = world;
    const client = clientOf(environment, lab);
    const writer = new LedgerWriter(client);
    const watcher = new LedgerWatcher(environment, clientOf(environment, lab));
    const watching = watcher.run();
    await world.until("the watch has begun", () => watcher.connections > 0);
    const writing = Array.from({ length: writers }, (_, lane) => writer.run(lane));
    const goesOn = async (): Promise<void> => {
      const before = writer.acknowledged.size;
      await world.until("writes are acknowledged", () => writer.acknowledged.size > before + 50);
    };
    await goesOn();
    for (const { context, pid } of lab.servers) {
      await killed(pid);
      await goesOn();
      await world.until(`${context} is back`, () =>
        lab.errorOutput().includes(`${context} is back`),
      );
    }
    await killed(lab.etcd?.pid);
    await goesOn();
    await world.until("it is said of etcd", () =>
      lab.errorOutput().includes("etcd ended (SIGKILL); it is started again"),
    );
    writer.stop();
    await Promise.all(writing);

    const stored = await storedLedger(client);
    const certain = new Map([...stored].filter(([name]) => !writer.unknown.has(name)));
    expect(writer.refused).toEqual([]);
    expect(certain).toEqual(new Map([...writer.acknowledged].sort(byName)));
    const inOrder = [...stored].sort(([, one], [, other]) => one - other);
    const last = inOrder.at(-1)?.[1] ?? 0;
    await world.until("the watcher has received all", () => watcher.lastVersion >= last);
    watcher.stop();
    await watching;
    expect(watcher.gaps).toEqual([]);
    expect(watcher.received).toEqual(inOrder);
    await expectDeploymentRuns(lab);

    expect(await lab.stop()).toBe(0);
    expect(pidsOf(lab).filter(isRunning)).toEqual([]);
    expect(existsSync(lab.kubeconfig)).toBe(false);
  }, 300_000);

  it("lists its servers in the kubernetes endpoints: a killed one leaves until it is back", async () => {
    const lab = await startLabProcess("--apiservers", "3", "--nodes", "0", "--store", "etcd");
    const addresses = lab.servers.map(({ url }) => new URL(url).hostname);
    const [first, second = "", third = ""] = addresses;
    expect(new Set(addresses).size).toBe(3);
    const listed = new ListedServers({
      ...world.environment,
      client: clientOf(world.environment, lab),
      cluster: "lab-1",
      now: () => world.environment.clock.wallMs(),
    });
    await listed.start();
    const latest = () => listed.history.at(-1)?.addresses.join();
    await world.until("all are listed", () => latest() === addresses.join());
    const before = listed.history.length;
    await killed(lab.servers[1]?.pid);
    await world.until("the killed one is back", () => latest() === addresses.join());
    await world.until("it had left", () =>
      listed.history.slice(before).some((entry) => !entry.addresses.includes(second)),
    );
    await world.until("all are listed again", () => latest() === addresses.join());
    const paused = lab.servers[2]?.pid ?? 0;
    process.kill(paused, "SIGSTOP");
    await world.until("the paused one leaves", () => latest() === [first, second].join());
    process.kill(paused, "SIGCONT");
    await world.until("it is back", () => latest() === [first, second, third].join());
    await listed.stop();
    expect(await lab.stop()).toBe(0);
  }, 300_000);

  it("dies with the lab that is killed, and the next lab removes what that one left", async () => {
    const lab = await startLabProcess("--store", "etcd", "--nodes", "0");
    await lab.stop("SIGKILL");
    await world.until("they are gone", () => !pidsOf(lab).some(isRunning));
    expect(pidsOf(lab)).toHaveLength(2);
    expect(foldersOf(lab)).not.toEqual([]);
    const next = await startLabProcess("--store", "etcd", "--nodes", "0");
    expect(await next.stop()).toBe(0);
    expect(foldersOf(lab)).toEqual([]);
  });

  it("keeps its objects in an etcd that was there before, for the next lab", async () => {
    const first = await startLabProcess("--nodes", "0", "--store", `etcd=${world.url}`);
    const client = clientOf(world.environment, first);
    const writer = new LedgerWriter(client);
    const writing = writer.run(0);
    await world.until("something is written", () => writer.acknowledged.size > 20);
    writer.stop();
    await writing;
    expect(await first.stop()).toBe(0);
    const second = await startLabProcess("--nodes", "0", "--store", `etcd=${world.url}`);
    const stored = await storedLedger(clientOf(world.environment, second));
    expect(stored).toEqual(new Map([...writer.acknowledged].sort(byName)));
    expect(await second.stop()).toBe(0);
  });

  it("says what is wrong with a store before it starts anything", async () => {
    const [disk, silent] = await Promise.all([
      runLockstep("lab", "--store", "disk"),
      runLockstep("lab", "--store", "etcd=http://127.0.0.1:1"),
    ]);
    expect({ ...disk, errorOutput: disk.errorOutput.split("\n") }).toEqual({
      code: 2,
      output: "",
      errorOutput: [
        "lockstep: option '--store <where>' argument 'disk' is invalid. It must be memory, etcd, or " +
          "etcd=http://HOST:PORT (several addresses of one etcd separated by commas).",
        expect.stringMatching(/lab --help shows the options\.$/),
        "",
      ],
    });
    expect(silent).toEqual({
      code: 2,
      output: "",
      errorOutput: "lockstep: no etcd answers at http://127.0.0.1:1; is it running?\n",
    });
  });

  it("says in one sentence that the port of a server is taken", async () => {
    const taken = createServer((socket) => socket.destroy());
    await once(taken.listen(0, "127.0.0.1"), "listening");
    const { port } = taken.address() as AddressInfo;
    const lab = await runLockstep("lab", "--store", "etcd", "--port", String(port));
    await once(taken.close(), "close");
    expect({ ...lab, errorOutput: lab.errorOutput.split("\n").slice(1) }).toEqual({
      code: 2,
      output: "",
      errorOutput: [
        "lockstep: lab-1 could not start. It said:",
        `lockstep: cannot listen on 127.0.0.1:${port}: another process already does. ` +
          "Stop that process or choose another address (port 0 takes any free port).",
        "",
      ],
    });
  });
});

function foldersOf({ pid }: LabProcess): readonly string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith(`lockstep-lab-${pid}-`));
}

/** kill -9; resolves when nothing of it is left. */
async function killed(pid: number | undefined): Promise<void> {
  if (pid === undefined) throw new Error("it does not run");
  process.kill(pid, "SIGKILL");
  while (isRunning(pid)) await new Promise((resolve) => setTimeout(resolve, 1));
}

function pidsOf({ servers, etcd }: LabProcess): readonly (number | undefined)[] {
  return [...servers.map(({ pid }) => pid), etcd?.pid];
}

/** With kubectl, at each server: controllers, scheduler and nodes have come through it all. */
async function expectDeploymentRuns(lab: LabProcess): Promise<void> {
  const program = process.env["LOCKSTEP_KUBECTL"] ?? "kubectl";
  const run = promisify(execFile);
  try {
    await run(program, ["version", "--client"]);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return;
    throw error;
  }
  const runsVia = async (context: string): Promise<void> => {
    const where = ["--kubeconfig", lab.kubeconfig, "--context", context];
    const name = `via-${context}`;
    await run(program, [...where, "create", "deployment", name, "--image=web", "--replicas=2"]);
    await run(program, [...where, "rollout", "status", "deployment", name, "--timeout=100s"]);
  };
  await Promise.all(lab.servers.map(({ context }) => runsVia(context)));
}

function byName([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1;
}
