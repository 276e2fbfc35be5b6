// `lockstep up` as a newcomer meets it: the story holds, it can fail, and whatever happens to it
// nothing is left behind.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { afterEach, expect, it } from "vitest";
import { processesOf, UpProcess } from "./up-process.ts";

const hasNginx = existsSync("/usr/lib/nginx/modules/ngx_http_lua_module.so");
const storyMs = 240_000;

const running = new Set<UpProcess>();
afterEach(async () => {
  await Promise.all([...running].map((up) => up.ended("SIGKILL")));
  running.clear();
});

function start(...args: readonly string[]): UpProcess {
  const up = new UpProcess(...args);
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

interface Told {
  readonly held: boolean;
  readonly checks: readonly { readonly what: string; readonly holds: boolean }[];
}

function failed({ checks }: Told): readonly string[] {
  return checks.filter(({ holds }) => !holds).map(({ what }) => what);
}

it.skipIf(!hasNginx)(
  "the story holds, and does not hold without the truth rules, both at the same time",
  async () => {
    const normal = start("--once", "--json");
    const disabled = start("--once", "--json", "--no-incidents", "--follow-slices");
    const codes = await Promise.all([normal.ended(), disabled.ended()]);
    const told = [normal, disabled].map((up) => JSON.parse(up.output) as Told);
    expect(told.map(failed)).toEqual([
      [],
      expect.arrayContaining(["Lockstep sends none to a pod that has been gone for a second"]),
    ]);
    expect(codes).toEqual([0, 1]);
    expect([normal.folder, disabled.folder]).toEqual([undefined, undefined]);
  },
  storyMs,
);

it(
  "without proxies the control plane's part of the story holds",
  async () => {
    const up = start("--once", "--json", "--no-incidents", "--no-proxies");
    expect(await up.ended()).toBe(0);
    const told = JSON.parse(up.output) as Told;
    expect(told.checks.map(({ what }) => what)).toEqual([
      "the doctor names the cause",
      "the fix has changes published 5 times sooner",
    ]);
  },
  storyMs,
);

it.skipIf(!hasNginx || !hasKubectl())(
  "after the story, what kubectl changes is shown as it arrives",
  async () => {
    const up = start("--no-incidents");
    await up.says("Everything keeps running");
    const kubectl = (...args: readonly string[]) =>
      execFileSync("kubectl", ["--kubeconfig", `${up.folder}/kubeconfig`, ...args], {
        encoding: "utf8",
      });
    const told = up.output.length;
    kubectl("--context", "beta", "scale", "deployment", "shop", "--replicas=5");
    await up.says("joined the Lockstep replicas after", told);
    const [pod = ""] = kubectl("--context", "beta", "get", "pods", "-o", "name").split("\n");
    const shown = "jsonpath={.status.podIP}";
    const address = kubectl("--context", "beta", "get", pod, "-o", shown);
    kubectl("--context", "beta", "delete", pod);
    await up.says(`−${address}`, told);
    const patch = '{"spec":{"template":{"metadata":{"annotations":{"release":"third"}}}}}';
    kubectl("--context", "beta", "patch", "deployment", "shop", "--type=merge", "-p", patch);
    kubectl("--context", "beta", "rollout", "status", "deployment", "shop", "--timeout=60s");
    await up.says(/\+127\.\S+ +published .* · synced .* · stock /, told);
    expect(await up.ended("SIGINT")).toBe(0);
  },
  storyMs,
);

const moments = [
  "1  An incident in virtual time",
  "cluster alpha at",
  "lockstep sync copies",
  "three stock replicas",
  "three Lockstep replicas",
  "every pod of the shop",
];

it.skipIf(!hasNginx).each(moments)(
  "Ctrl-C after %j leaves nothing behind",
  async (moment) => {
    const up = start(...(moment.startsWith("1") ? [] : ["--no-incidents"]));
    await up.says(moment);
    const folder = up.folder ?? "no folder yet";
    expect(await up.ended("SIGINT")).toBe(0);
    expect(up.output).toMatch(/Stopped; nothing is left behind\.\n$/);
    expect(up.errors).toBe("");
    expect(up.folder).toBeUndefined();
    expect(processesOf(folder)).toEqual([]);
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
    expect(await up.ended()).toBe(1);
    expect(up.errors).toContain(`lockstep: cannot listen on 127.0.0.1:${port}`);
    expect(up.folder).toBeUndefined();
    server.close();
  },
  storyMs,
);
