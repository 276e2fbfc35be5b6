import { expect, test } from "vitest";
import {
  type ControllerWorld,
  inControllerWorld,
} from "../../../../tests/controllers/controller-world.ts";
import { RecordedTerminal } from "../../../../tests/terminal/recorded-terminal.ts";
import { runProgram } from "../../program.ts";

const servers = { a: "https://server:6443", away: "https://nowhere:6443" };

const kubeconfig = JSON.stringify({
  apiVersion: "v1",
  kind: "Config",
  clusters: Object.entries(servers).map(([name, server]) => ({ name, cluster: { server } })),
  contexts: Object.keys(servers).map((name) => ({
    name,
    context: { cluster: name, user: "admin" },
  })),
  users: [{ name: "admin", user: { token: "admin-token" } }],
});

function doctor(world: ControllerWorld, ...args: readonly string[]) {
  return doctorUntil(world, undefined, ...args);
}

/** Stopped after so long; not at all when undefined. */
async function doctorUntil(
  { simulation }: ControllerWorld,
  stopAfterMs: number | undefined,
  ...args: readonly string[]
) {
  const environment = simulation.host("lockstep");
  await environment.files.write("/kubeconfig", kubeconfig);
  const terminal = new RecordedTerminal();
  const stop = new AbortController();
  const startedMs = simulation.now();
  const context = { environment, terminal, stop: stop.signal };
  if (stopAfterMs !== undefined) environment.timers.after(stopAfterMs, () => stop.abort());
  const code = await runProgram(context, "0.0.0", ["doctor", ...args]);
  const tookMs = simulation.now() - startedMs;
  return { code, tookMs, out: terminal.out, errors: terminal.error };
}

const at = (name: string) => ["--context", name, "--kubeconfig", "/kubeconfig"];

test("prints the cost, examines the cluster within the rate, and saves for its owner", () =>
  inControllerWorld(async (world) => {
    const live = await doctor(
      world,
      ...at("a"),
      "--for",
      "10s",
      "--max-qps",
      "2",
      "--save",
      "/seen",
    );
    expect(live.errors).toMatch(/a: reads only\. Will list 3 nodes.*at\s+most 2 a second/s);
    expect(live.out).toContain("Cluster a\n");
    const [, requests = "0"] = /cluster a: (\d+) requests/.exec(live.out) ?? [];
    const [, most = "0"] = /at\s+most\s+(\d+)\s+requests/.exec(live.errors) ?? [];
    expect(Number(requests)).toBeLessThanOrEqual(Number(most));
    expect(live.tookMs).toBeGreaterThan((Number(requests) - 2) * 500);
    const offline = await doctor(world, "/seen", "--output", "json");
    expect(offline.code).toBe(live.code);
    const again = await doctor(world, ...at("a"), "--save", "/seen").catch(String);
    expect(again).toContain("/seen/a is not empty: give --save another folder.");
  }));

test("ends with 2 where nothing could be read, and goes on with the other cluster", () =>
  inControllerWorld(async (world) => {
    const away = await doctor(world, ...at("away"), "--for", "1s");
    expect([away.code, away.out]).toEqual([2, ""]);
    expect(away.errors).toContain("away: nothing could be examined");
    const both = await doctor(world, ...at("away"), "--context", "a", "--output", "json");
    expect(both.code).toBe(0);
    const notExamined = ["pods/proxy: pod kube-controller-manager-master has no address."];
    expect(JSON.parse(both.out)).toMatchObject({ cluster: "a", notExamined, findings: [] });
  }));

test("examines every context, and says which one cannot be examined", () =>
  inControllerWorld(async (world) => {
    const all = ["--all-contexts", "--kubeconfig", "/kubeconfig", "--for", "1s"];
    const seen = await doctor(world, ...all);
    expect(seen.code).toBe(0);
    expect(seen.out).toContain("Cluster a\n");
    expect(seen.errors).toContain("away: nothing could be examined");
  }));

test("prints what was read so far when it is stopped early", () =>
  inControllerWorld(async (world) => {
    const seen = await doctorUntil(world, 20_000, ...at("a"), "--for", "5m");
    expect(seen.code).toBe(0);
    expect(seen.tookMs).toBeLessThan(25_000);
    expect(seen.out).toContain("Stopped early: this is the result of what was read until then.");
    expect(seen.out).toMatch(/cluster a: \d+ requests, \d+ watches, [5-9] samples/);
  }));

const healthy = `
Server Version: v1.20.2
    - --kube-api-qps=300
---
apiVersion: v1
kind: Endpoints
metadata: { name: web, namespace: shop }
`;

test("compares with a healthy cluster, whose requests are announced", () =>
  inControllerWorld(async (world) => {
    const environment = world.simulation.host("lockstep");
    await environment.files.makeDirectory("/bad");
    await environment.files.write("/bad/a.txt", healthy);
    const compared = ["--compare", "a", "--kubeconfig", "/kubeconfig"];
    const seen = await doctor(world, "/bad", ...compared, "--output", "json");
    expect(JSON.parse(seen.out).differences).toEqual(
      expect.arrayContaining([
        { what: "version", here: "1.20.2", there: "1.33.1" },
        { what: "flag --kube-api-qps", here: "300", there: "20" },
      ]),
    );
    expect(seen.errors.replaceAll(/\s+/g, " ")).toMatch(
      /a: reads only, to compare\. Will list Endpoints, pods and roles in \d+ requests, at most 10 a second\./,
    );
    const live = await doctor(
      world,
      ...at("a"),
      "--for",
      "1s",
      "--compare",
      "/bad",
      "--output",
      "json",
    );
    expect(JSON.parse(live.out).differences).toEqual(
      expect.arrayContaining([
        { what: "version", here: "1.33.1", there: "1.20.2" },
        { what: "flag --kube-api-qps", here: "20", there: "300" },
      ]),
    );
  }));

test("a mistyped context to compare with is refused before anything is read", () =>
  inControllerWorld(async (world) => {
    const asked = ["--compare", "stagin", "--kubeconfig", "/kubeconfig"];
    const refused = await doctor(world, ...at("a"), ...asked.slice(0, 2)).catch(String);
    expect(refused).toContain(
      "--compare stagin: there is no such file or folder, and the kubeconfig",
    );
  }));
