// The page of `lockstep serve` while processes that it depends on are killed: an API server of a lab on
// etcd, and the syncer. The page says so, and shows how it was when they are back.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { createShop, releaseShop, shopReplicas } from "../../src/lab/shop.ts";
import type { TruthTable } from "../../src/server/api.ts";
import { desktop, openPage, printedAddress, startBrowser } from "../../tests/page/browser.ts";
import { withoutEtcd } from "../etcd-world.ts";
import { clientOfLab, type LabProcess, startLabProcess, stopAllLabs } from "../lab-process.ts";
import { useOwnTemporaryFolder } from "../own-temporary-folder.ts";

/** Starts and releases in real time, on a busy machine. */
const patienceMs = 600_000;

const betweenKillsMs = 100;

describe.skipIf(withoutEtcd !== false)("the page of a lab on etcd", () => {
  useOwnTemporaryFolder();
  const children: ChildProcess[] = [];
  let browser: Browser;
  let client: KubeClient;
  let lab: LabProcess;
  let address: string;
  let page: Page;

  beforeAll(async () => {
    browser = await startBrowser();
    lab = await startLabProcess("--clusters", "2", "--store", "etcd");
    client = await clientOfLab(lab);
    await createShop(client, { strategy: { rollingUpdate: { maxSurge: "100%" } } });
    startSync();
    const clusters = ["--context", "lab-1", "--access-context", "lab-2"];
    const serve = lockstep("serve", ...clusters, "--listen", "127.0.0.1:0");
    address = await printedAddress(serve);
    const opened = await openPage(browser, address, desktop);
    page = opened.page;
    page.setDefaultTimeout(patienceMs);
  }, patienceMs);

  afterAll(async () => {
    await browser?.close();
    await Promise.all(children.map(ended));
    await stopAllLabs();
  });

  function lockstep(...args: readonly string[]): ChildProcess {
    const all = ["bin/lockstep.mjs", ...args, "--kubeconfig", lab.kubeconfig];
    const child = spawn(process.execPath, all, { stdio: ["ignore", "pipe", "ignore"] });
    children.push(child);
    return child;
  }

  function startSync(): ChildProcess {
    const child = lockstep("sync", "--from", "lab-1", "--to", "lab-2", "--namespace", "default");
    child.stdout?.resume();
    return child;
  }

  /** Killed once it may be back before the page looks. Each restart of a supervised server waits longer. */
  async function killUntilGone(cluster: string): Promise<void> {
    const noticed = new AbortController();
    const healthy = page.locator(`[data-cluster='${cluster}'] .health.good`);
    const gone = healthy.waitFor({ state: "detached" }).finally(() => noticed.abort());
    while (!noticed.signal.aborted) {
      for (const pid of serversOf(cluster, lab.kubeconfig)) killIfThere(pid);
      await sleep(betweenKillsMs);
    }
    await gone;
  }

  /** A syncer that dies before it has copied the service leaves nothing to wait for. */
  async function untilCopied(): Promise<void> {
    const marks = async () => {
      const answer = await fetch(new URL("/api/v1/services/default/shop", address));
      const table = answer.ok ? ((await answer.json()) as Pick<TruthTable, "rows">) : { rows: [] };
      return table.rows.map(({ cells }) => cells.map(({ mark }) => mark));
    };
    const inPodSliceAndCopy = ["in", "in", "in"];
    await expect
      .poll(marks, { timeout: patienceMs })
      .toEqual(Array.from({ length: shopReplicas }, () => inPodSliceAndCopy));
  }

  it(
    "says that an API server was killed, and that it answers again",
    async () => {
      await page.locator("[data-cluster='lab-1'] .health.good").waitFor();
      await killUntilGone("lab-1");
      await page.getByText(/lab-1 answers again\. It did not for/).waitFor();
      await page.locator("[data-cluster='lab-1'] .health.good").waitFor();
      const other = page.locator("[data-cluster='lab-2'] .health.good");
      await expect.poll(() => other.count(), { timeout: patienceMs }).toBe(1);
    },
    patienceMs,
  );

  it(
    "says that copies wait while the syncer is dead, and that none waits when it is back",
    async () => {
      const [sync] = children;
      if (sync === undefined) throw new Error("no syncer");
      await untilCopied();
      sync.kill("SIGKILL");
      await once(sync, "exit");
      await releaseShop(client, "without-a-syncer");
      await page.locator(".verdict .hop.synced.late").waitFor();
      await expect
        .poll(() => page.locator(".verdict-text").textContent(), { timeout: patienceMs })
        .toMatch(/leave the copies late|are copied to the access cluster late/);
      startSync();
      await page.locator(".verdict .hop.synced.waiting").waitFor({ state: "detached" });
      await page.getByText("none in flight").waitFor();
    },
    patienceMs,
  );
});

/** Processes of API servers are named by their configuration, which is beside the lab's kubeconfig. */
function serversOf(cluster: string, kubeconfig: string): readonly number[] {
  const config = join(dirname(kubeconfig), `${cluster}.json`);
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && commandLine(name).includes(config))
    .map(Number);
}

/** Empty when the process has ended. */
function commandLine(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    return [];
  }
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGINT");
  await once(child, "exit");
}
