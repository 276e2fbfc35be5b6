// `lockstep up` as a newcomer meets it: the story holds, it can fail, and whatever happens to it
// nothing is left behind.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { useOwnTemporaryFolder } from "./own-temporary-folder.ts";
import { UpPageClient } from "./up-page-client.ts";
import { nginxMaster, processesOf, UpProcess } from "./up-process.ts";

const hasNginx = existsSync("/usr/lib/nginx/modules/ngx_http_lua_module.so");
const storyMs = 600_000;

useOwnTemporaryFolder();

const running = new Set<UpProcess>();
afterEach(async () => {
  await Promise.all([...running].map((up) => up.ended("SIGKILL")));
  running.clear();
});

function start(...args: readonly string[]): UpProcess {
  const up = UpProcess.start(...args);
  running.add(up);
  return up;
}

function hasKubectl(): boolean {
  try {
    execFileSync("kubectl", ["version", "--client"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

interface Printed {
  readonly held: boolean;
  readonly checks: readonly { readonly name: string; readonly holds: boolean }[];
}

function failed({ checks }: Printed): readonly string[] {
  return checks.filter(({ holds }) => !holds).map(({ name }) => name);
}

// All of it at the same time: a story waits more than it works.
describe("the story", () => {
  const asked = {
    whole: ["--page-port", "0"],
    // Also shows that an HTTPRoute leads there: a route that leads nowhere sends nothing to dead pods.
    withoutTruth: ["--once", "--json", "--no-incidents", "--follow-slices", "--routes", "gateway"],
    withoutProxies: ["--once", "--json", "--no-incidents", "--no-proxies"],
  };
  let whole: UpProcess;
  let withoutTruth: UpProcess;
  let withoutProxies: UpProcess;
  beforeAll(() => {
    withoutProxies = UpProcess.start(...asked.withoutProxies);
    if (!hasNginx) return;
    whole = UpProcess.start(...asked.whole);
    withoutTruth = UpProcess.start(...asked.withoutTruth);
  });
  afterAll(async () => {
    const all = [whole, withoutTruth, withoutProxies];
    await Promise.all(all.map((up) => up?.ended("SIGKILL")));
  });

  it.skipIf(!hasNginx)(
    "has a page from the first line on, where the story plays and an incident can be started",
    async () => {
      const page = new UpPageClient(await whole.pageUrl());
      const { mode, story, can } = await page.state();
      expect([mode, story?.act, can.incidents, can.whatif]).toEqual(["lab", 1, true, true]);
      await page.startIncident("ghost-leader");
    },
    storyMs,
  );

  it.skipIf(!hasNginx)(
    "does not hold without the truth rules",
    async () => {
      expect(await withoutTruth.ended()).toBe(1);
      expect(failed(JSON.parse(withoutTruth.output) as Printed)).toContain(
        "lockstep-sends-to-no-dead-pod",
      );
      expect(withoutTruth.folder).toBeUndefined();
    },
    storyMs,
  );

  it(
    "holds without proxies for the control plane's part of it",
    async () => {
      const code = await withoutProxies.ended();
      const printed = JSON.parse(withoutProxies.output) as Printed;
      expect(printed.checks.map(({ name, holds }) => [name, holds])).toEqual([
        ["cause-named", true],
        ["fix-works", true],
      ]);
      expect([code, printed.held]).toEqual([0, true]);
      expect(withoutProxies.folder).toBeUndefined();
    },
    storyMs,
  );

  it.skipIf(!hasNginx)(
    "holds as a whole",
    async () => {
      await whole.says("Everything keeps running");
      const broken = [...whole.output.matchAll(/^✗ .*$/gm)].map(([line]) => line);
      expect(broken).toEqual([]);
      expect(whole.output).toContain("\nAll checks passed.\n");
    },
    storyMs,
  );

  it.skipIf(!hasNginx)(
    "shows on the page what it printed",
    async () => {
      const page = new UpPageClient(await whole.pageUrl());
      const { story, requests, clusters, replicas, findings, notes } = await page.state();
      expect([story?.act, story?.checks.map(({ holds }) => holds)]).toEqual([
        5,
        [true, true, true, true, true],
      ]);
      const [stock, lockstep] = requests.sides;
      expect([stock?.side, lockstep?.side, lockstep?.lost]).toEqual(["stock", "lockstep", 0]);
      expect(stock?.lost).toBeGreaterThan(0);
      expect(clusters.map(({ name, state }) => [name, state])).toEqual([
        ["alpha", "watching"],
        ["beta", "watching"],
        ["access", "watching"],
      ]);
      expect(replicas.filter(({ state }) => state !== "connected")).toEqual([]);
      // The cause is fixed.
      expect([findings, notes]).toEqual([0, []]);
      const charts = new Set((await page.series()).map(({ chart }) => chart));
      expect([...charts]).toEqual(
        expect.arrayContaining([
          "control-plane queue",
          "control-plane waits",
          "control-plane throttling",
          "control-plane requests of the controller manager",
          "control-plane heartbeats",
          "control-plane no-op writes",
          "requests lost",
        ]),
      );
    },
    storyMs,
  );

  it.skipIf(!hasNginx)(
    "plays an incident in simulated time, names its cause and shows the fix",
    async () => {
      const page = new UpPageClient(await whole.pageUrl());
      const named = await page.untilNamed("ghost-leader");
      const { finding, isSimulated } = named;
      expect([isSimulated, finding?.rule]).toEqual([true, "ghost-leader"]);
      await page.fixIncident("ghost-leader");
      const fixed = await page.untilPhase("fixed");
      expect(fixed.measures.filter(({ held }) => !held)).toEqual([]);
      expect(fixed.charts.every(({ points }) => points.length > 0)).toBe(true);
      await page.stopIncident("ghost-leader");
      await page.untilPhase("ended");
    },
    storyMs,
  );

  it.skipIf(!hasNginx)(
    "runs an incident in its clusters: stock loses requests, the cause is named, the fix works",
    async () => {
      const page = new UpPageClient(await whole.pageUrl());
      await page.startIncident("throttled-controller");
      const named = await page.untilNamed("throttled-controller");
      expect([named.isSimulated, named.finding?.rule]).toEqual([false, "client-throttling"]);
      expect(named.namedAfterMs).toBeGreaterThan(0);
      // The removed pods refuse requests while stock still uses them.
      const lossy = await page.untilRunning(({ requests }) =>
        requests.some(({ side, lost }) => side === "stock" && lost > 0),
      );
      expect(lossy.charts.map(({ chart }) => chart)).toContain("control-plane queue");
      await page.fixIncident("throttled-controller");
      const fixed = await page.untilPhase("fixed");
      expect(fixed.requests.find(({ side }) => side === "lockstep")?.lost).toBe(0);
      expect(fixed.measures.filter(({ held }) => !held)).toEqual([]);
      await page.stopIncident("throttled-controller");
      await page.stopIncident("throttled-controller");
      expect((await page.untilPhase("ended")).finding?.rule).toBe("client-throttling");
    },
    storyMs,
  );

  it.skipIf(!hasNginx)(
    "answers a what-if question from a thread",
    async () => {
      const page = new UpPageClient(await whole.pageUrl());
      const answer = await page.prediction({ services: 50 });
      expect(answer.figures?.map(({ id }) => id)).toContain("drain");
      expect(answer.flags).toContain("--kube-api-qps=");
    },
    storyMs,
  );

  it.skipIf(!hasNginx).each(["stock-1", "lockstep-1"])(
    "recovers when the nginx of %s is killed, and the page says so",
    async (replica) => {
      const page = new UpPageClient(await whole.pageUrl());
      const master = () => nginxMaster(`${whole.folder}/${replica}`);
      const killed = master();
      process.kill(killed ?? 0, "SIGKILL");
      await page.untilState(({ notes }) =>
        notes.some((note) => note.startsWith(`${replica} serves again. It did not for `)),
      );
      expect(master()).toBeGreaterThan(0);
      expect(master()).not.toBe(killed);
      const { replicas } = await page.state();
      expect(replicas.find(({ name }) => name === replica)).toMatchObject({
        state: "connected",
        problem: null,
      });
    },
    storyMs,
  );

  it.skipIf(!hasNginx || !hasKubectl())(
    "goes on: what kubectl changes is shown as it arrives",
    async () => {
      const kubectl = (...args: readonly string[]) =>
        execFileSync("kubectl", ["--kubeconfig", `${whole.folder}/kubeconfig`, ...args], {
          encoding: "utf8",
        });
      const rolledOut = ["rollout", "status", "deployment", "shop", "--timeout=300s"];
      const printed = whole.output.length;
      kubectl("--context", "beta", "scale", "deployment", "shop", "--replicas=5");
      await whole.says(/\+127\.\S+ +Lockstep replicas added it after /, printed);
      kubectl("--context", "beta", ...rolledOut);
      const [pod = ""] = kubectl("--context", "beta", "get", "pods", "-o", "name").split("\n");
      const shown = "jsonpath={.status.podIP}";
      const address = kubectl("--context", "beta", "get", pod, "-o", shown);
      kubectl("--context", "beta", "delete", pod);
      await whole.says(`−${address}`, printed);
      const patch = '{"spec":{"template":{"metadata":{"annotations":{"release":"third"}}}}}';
      kubectl("--context", "beta", "patch", "deployment", "shop", "--type=merge", "-p", patch);
      expect(kubectl("--context", "beta", ...rolledOut)).toMatch(/successfully rolled out\n$/);
      await whole.says(
        /lost of \d+ requests: stock \d+, Lockstep \d+ +· +all replicas are up to date/,
        printed,
      );
    },
    storyMs,
  );

  it.skipIf(!hasNginx)(
    "ends with Ctrl-C, and leaves nothing behind",
    async () => {
      const folder = whole.folder ?? "no folder";
      expect(existsSync(`${folder}/kubeconfig`)).toBe(true);
      expect(await whole.ended("SIGINT")).toBe(0);
      expect(whole.folder).toBeUndefined();
      expect(processesOf(folder)).toEqual([]);
    },
    storyMs,
  );
});

/** Two at a time. */
const moments = [
  ["1  A real incident, in simulated time", "cluster alpha at"],
  ["lockstep sync copies", "three stock replicas"],
  ["three Lockstep replicas", "every pod of the shop"],
];

it.skipIf(!hasNginx).each(moments)(
  "Ctrl-C after %j, and after %j, leaves nothing behind",
  async (...two) => {
    await Promise.all(
      two.map(async (moment) => {
        const up = start(...(moment.startsWith("1") ? [] : ["--no-incidents"]));
        await up.says(moment);
        const folder = up.folder ?? "no folder yet";
        expect(await up.ended("SIGINT")).toBe(0);
        expect(up.output).toMatch(/Stopped\. Everything was removed\.\n$/);
        // On a busy machine it may warn that something was late.
        const said = up.errors.split("\n").filter((line) => line !== "");
        expect(said.filter((line) => !line.startsWith('{"level":"warn"'))).toEqual([]);
        expect(up.folder).toBeUndefined();
        expect(processesOf(folder)).toEqual([]);
      }),
    );
  },
  storyMs,
);

it.skipIf(!hasNginx)(
  "what a killed run leaves is cleaned up by the next",
  async () => {
    const killed = start("--no-incidents");
    await killed.says("every pod of the shop");
    const folder = killed.folder ?? "";
    await killed.ended("SIGKILL");
    expect(processesOf(folder).length).toBeGreaterThan(0);
    const next = start("--no-incidents");
    await next.says("that had been killed");
    expect(existsSync(folder)).toBe(false);
    expect(processesOf(folder)).toEqual([]);
    await next.ended("SIGINT");
  },
  storyMs,
);

it.skipIf(!hasNginx)(
  "a port that is taken is named, and nothing is left behind",
  async () => {
    const server = createServer();
    const port = await new Promise<number>((resolve) => {
      server.listen(0, "127.0.0.1", () => {
        const address = server.address();
        resolve(typeof address === "object" ? (address?.port ?? 0) : 0);
      });
    });
    const up = start("--no-incidents", "--port", String(port));
    expect(await up.ended()).toBe(2);
    expect(up.errors).toMatch(
      new RegExp(`^lockstep: port ${port} is in use by .* with --port\\.\n$`),
    );
    expect(up.folder).toBeUndefined();
    server.close();
  },
  storyMs,
);
