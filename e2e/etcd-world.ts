// An etcd for tests, on free ports and in a folder of its own: Debian's, or the one the real suite
// has built. It can be killed at any moment, and comes back with what it had.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EtcdStorage } from "../src/apiserver/storage/etcd/etcd-storage.ts";
import type { StorageUnderTest } from "../src/apiserver/storage/storage.contract.ts";
import type { Environment } from "../src/environment/environment.ts";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { type EtcdProcess, startEtcd } from "../src/lab/processes/etcd-process.ts";
import { SettlingStorage } from "./settling-storage.ts";

const debianEtcd = "/usr/bin/etcd";

/** Where the real suite keeps what it has built. */
const builtEtcd = join(process.env["LOCKSTEP_REAL_BIN"] ?? "/nowhere", "etcd");

/** Debian's is 3.4, and the one of the real suite 3.6. */
export const etcdPrograms = [debianEtcd, builtEtcd]
  .filter((program, index) => index === 0 || existsSync(program))
  .map((program) => ({ name: program === debianEtcd ? "Debian's etcd" : program, program }));

/** False, or why tests that need an etcd cannot run. */
export const withoutEtcd: false | string = existsSync(debianEtcd)
  ? false
  : "etcd-server is not installed";

/** Below the limit of a test, so that it can say what it waited for. */
const untilMs = 240_000;

export class EtcdWorld {
  readonly environment: Environment = nodeEnvironment();
  readonly #folder = mkdtempSync(join(tmpdir(), "lockstep-e2e-etcd-"));
  readonly #storages = new Set<EtcdStorage>();
  #etcd: EtcdProcess | undefined;
  #roots = 0;

  static async start(program = debianEtcd): Promise<EtcdWorld> {
    const world = new EtcdWorld();
    const folder = join(world.#folder, "data");
    const { environment } = world;
    world.#etcd = await startEtcd({ environment, folder, program });
    return world;
  }

  get url(): string {
    return this.#running.url;
  }

  /** A storage as an API server process has it; those with the same root share their keys. */
  storage(root = ""): EtcdStorage {
    const storage = new EtcdStorage({
      ...this.environment,
      endpoints: [this.url],
      root,
      compactEveryMs: 0,
    });
    this.#storages.add(storage);
    return storage;
  }

  /** For the contract: keys of its own on the shared etcd. */
  open = async (): Promise<StorageUnderTest> => {
    this.#roots += 1;
    const root = `/root-${this.#roots}`;
    const storage = new SettlingStorage(this.storage(root));
    return {
      storage,
      another: async () => this.storage(root),
      compact: () => this.compact(),
      settle: () => storage.settle(),
      close: async () => this.#stopStorages(),
    };
  };

  /** Forgets all history. */
  async compact(): Promise<void> {
    const { revision } = await this.storage().get("/none");
    const body = JSON.stringify({ revision: String(revision) });
    await fetch(`${this.url}/v3/kv/compaction`, { method: "POST", body });
  }

  /** kill -9; resolves when it is gone. It is started again by itself. */
  async kill(): Promise<void> {
    const { processes, timers } = this.environment;
    const { pid } = this.#running;
    if (pid === undefined) throw new Error("etcd does not run");
    processes.kill(pid, "SIGKILL");
    while (processes.isAlive(pid)) await timers.sleep(1);
  }

  async until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    const { timers } = this.environment;
    for (let waited = 0; !(await isSo()); waited += 20) {
      if (waited > untilMs) throw new Error(`not so within ${untilMs} ms: ${what}`);
      await timers.sleep(20);
    }
  }

  async stop(): Promise<void> {
    this.#stopStorages();
    await this.#etcd?.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get #running(): EtcdProcess {
    if (this.#etcd === undefined) throw new Error("etcd has not been started");
    return this.#etcd;
  }

  #stopStorages(): void {
    for (const storage of this.#storages) storage.stop();
    this.#storages.clear();
  }
}
