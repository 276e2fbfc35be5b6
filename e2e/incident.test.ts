// `lockstep incident` as a user types it: a play in virtual time, one over real sockets, and the
// state after an abort of either.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { diagnose } from "../src/doctor/diagnose.ts";
import { evidenceIn, noFacts } from "../src/doctor/evidence/evidence.ts";
import { emptySummary, readPath } from "../src/doctor/evidence/read-paths.ts";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { expectJudged } from "../tests/blame/ledger-judge.ts";
import { useOwnTemporaryFolder } from "./own-temporary-folder.ts";
import { withoutNginx } from "./proxy-world.ts";

const playMs = 600_000;

/** Three on each side. */
const replicaNames = ["stock", "lockstep"].flatMap((side) => [1, 2, 3].map((n) => `${side}-${n}`));

class IncidentProcess {
  readonly #child: ChildProcess;
  /** Resolves when it has ended and all that it wrote has been read. */
  readonly #closed: Promise<unknown>;
  output = "";
  errors = "";

  constructor(...args: readonly string[]) {
    this.#child = spawn(process.execPath, ["bin/lockstep.mjs", "incident", ...args], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#closed = once(this.#child, "close");
    this.#child.stdout?.on("data", (chunk: Buffer) => {
      this.output += chunk.toString("utf8");
    });
    this.#child.stderr?.on("data", (chunk: Buffer) => {
      this.errors += chunk.toString("utf8");
    });
  }

  /** Folders that this run made and has not removed. */
  get folders(): readonly string[] {
    return readdirSync(tmpdir()).filter((name) =>
      name.startsWith(`lockstep-incident-${this.#child.pid}-`),
    );
  }

  /** Masters of nginx that this run has started and not ended. */
  get nginxes(): readonly string[] {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .filter((pid) => commandOf(pid).includes(`lockstep-incident-${this.#child.pid}-`));
  }

  /** Waits until every replica of both sides has its nginx. */
  async hasProxies(): Promise<void> {
    const isThere = (replica: string): boolean =>
      this.folders.some((folder) => existsSync(join(tmpdir(), folder, replica, "nginx.pid")));
    while (!replicaNames.every(isThere)) {
      if (this.isOver) throw new Error(`ended without proxies: ${this.output}${this.errors}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  get isOver(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  async shows(progress: string): Promise<void> {
    while (!this.errors.includes(progress)) {
      if (this.isOver) throw new Error(`ended without ${progress}: ${this.output}${this.errors}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async ended(signal?: NodeJS.Signals): Promise<number | null> {
    if (signal !== undefined && !this.isOver) this.#child.kill(signal);
    await this.#closed;
    return this.#child.exitCode;
  }
}

/** Empty when there is no such process any more. */
function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

useOwnTemporaryFolder();

/** It waits for most of its time, so that the others may run meanwhile. */
let live: IncidentProcess | undefined;
const savedIn = () => join(tmpdir(), "saved");
beforeAll(() => {
  if (withoutNginx !== false) return;
  live = new IncidentProcess("apiserver-fight", "--live", "--json", "--save", savedIn());
});
afterAll(() => live?.ended("SIGKILL"));

const running = new Set<IncidentProcess>();
afterEach(async () => {
  await Promise.all([...running].map((one) => one.ended("SIGKILL")));
  running.clear();
});

function start(...args: readonly string[]): IncidentProcess {
  const one = new IncidentProcess(...args);
  running.add(one);
  return one;
}

interface Report {
  readonly held: boolean;
  readonly incidents: readonly {
    readonly name: string;
    readonly isFixed: boolean;
    readonly stage: string;
    readonly measures: readonly { readonly id: string; readonly lockstep: number | null }[];
    readonly series: readonly { readonly points: readonly unknown[] }[];
  }[];
}

it.skipIf(withoutNginx !== false)(
  "a live play has one folder, and a real nginx for each replica",
  async () => {
    await live?.hasProxies();
    expect(live?.folders).toHaveLength(1);
    expect(live?.nginxes.length).toBeGreaterThanOrEqual(replicaNames.length);
  },
  playMs,
);

it(
  "a play in virtual time is one document on standard output, its progress beside it",
  async () => {
    const play = start("apiserver-fight", "--fix", "--json", "--seed", "3");
    expect(await play.ended()).toBe(0);
    const report = JSON.parse(play.output) as Report;
    expect(report.held).toBe(true);
    expect(report.incidents).toMatchObject([
      { name: "apiserver-fight", isFixed: true, stage: "virtual", seed: 3 },
    ]);
    expect(play.errors).toMatch(/ {2}apiserver-fight with the fix: .* of simulated time\n/);
  },
  playMs,
);

it.skipIf(withoutNginx !== false)(
  "Ctrl-C ends a live play with its proxies",
  async () => {
    const play = start("apiserver-fight", "--live", "--compare");
    await play.hasProxies();
    expect(await play.ended("SIGINT")).toBe(2);
    expect(play.errors).toMatch(/Stopped after 0 of 1\.\n$/);
    expect([play.folders, play.nginxes]).toEqual([[], []]);
  },
  playMs,
);

it.each([[["apiserver-fight"]], [["--all", "--compare"]], [["--all", "--json"]]])(
  "Ctrl-C in %j ends it, says so and leaves nothing behind",
  async (args) => {
    const play = start(...args);
    await play.shows("time\n");
    expect(await play.ended("SIGINT")).toBe(2);
    expect(play.output).toBe("");
    expect(play.errors).toMatch(/Stopped after 0 of \d+\.\n$/);
    expect(play.folders).toEqual([]);
  },
  playMs,
);

it.skipIf(withoutNginx !== false)(
  "it leaves only what it saved, by which the requests it lost are blamed as they should be",
  async () => {
    if (live === undefined) throw new Error("it has not been started");
    const play = live;
    await play.ended();
    expect(play.errors).toContain("of real time");
    expect(play.nginxes).toEqual([]);
    const { incidents } = JSON.parse(play.output) as Report;
    expect(incidents).toMatchObject([{ name: "apiserver-fight", stage: "live" }]);
    const lost = incidents[0]?.measures.find(({ id }) => id === "requests-lost");
    expect(lost?.lockstep).toBe(0);
    // The first counts by the minute, and a lucky play is over before one has passed.
    expect(incidents[0]?.series.slice(1).every(({ points }) => points.length > 0)).toBe(true);
    expect(play.folders).toEqual([]);
    await expectBlamed(savedIn());
    expect(await diagnosed(savedIn())).toBe("apiserver-fight");
  },
  playMs,
);

/** The cause that the doctor names first, from the saved files alone. */
async function diagnosed(saved: string): Promise<string | undefined> {
  const { files, log } = nodeEnvironment({ log: { level: () => "error" } });
  const facts = noFacts();
  const { signal } = new AbortController();
  await readPath({ files, log, facts, signal }, saved, emptySummary());
  return diagnose(evidenceIn(facts)).findings[0]?.rule;
}

/**
 * From what was saved alone, every lost request as the ledger has it: stock routed late, except for
 * the first moments of a release, when the machine has not published it yet.
 */
async function expectBlamed(saved: string): Promise<void> {
  const environment = nodeEnvironment({ log: { level: () => "error" } });
  const { lost, logged, blamed, certain } = await expectJudged(environment, saved, "stock");
  expect(lost).toBeGreaterThan(0);
  expect(logged).toBe(lost);
  expect(certain["routed late"]).toBeGreaterThan(0);
  expect(["routed late", "published late"]).toEqual(expect.arrayContaining(Object.keys(blamed)));
}
