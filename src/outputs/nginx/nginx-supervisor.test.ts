import { describe, expect, it } from "vitest";
import { type NginxWorld, nginxWorld, prefix } from "../../../tests/nginx/nginx-world.ts";
import { NginxOptionsError } from "./nginx-servers.ts";

describe("a supervisor", () => {
  it("starts nginx when the socket is silent, with the files it needs", () =>
    nginxWorld(async (world) => {
      const supervisor = world.supervisor();
      await supervisor.start();
      const { files } = world.host;
      expect(world.starts).toBe(1);
      expect(await text(world, "nginx.conf")).toBe("the content of nginx.conf");
      expect(await text(world, "lua/lockstep/start.lua")).toBe(
        "the content of lua/lockstep/start.lua",
      );
      expect(await files.list(`${prefix}/run`)).toEqual([
        "control.conf",
        "main.conf",
        "servers.conf",
        "trusted.conf",
        "upstream-ca.pem",
      ]);
      expect(await text(world, "run/main.conf")).toBe(
        "load_module /usr/lib/nginx/modules/ndk_http_module.so;\n" +
          "load_module /usr/lib/nginx/modules/ngx_http_lua_module.so;\n" +
          "worker_processes 1;\n",
      );
      await supervisor.stop();
    }));

  it("adopts the nginx it finds, and leaves it running when it stops", () =>
    nginxWorld(async (world) => {
      const first = world.supervisor();
      await first.start();
      await first.stop();
      const served: string[] = [];
      const second = world.supervisor({ onServing: ({ bootId }) => void served.push(bootId) });
      await second.start();
      await world.simulation.sleep(60_000);
      expect([world.starts, served]).toEqual([1, [first.serving?.bootId]]);
      const { masterPid: pid } = first.serving ?? {};
      const lines = world.simulation.logLines().filter(({ level }) => level !== "debug");
      expect(lines.map(({ message, fields }) => [message, fields])).toEqual([
        ["nginx was started", { pid, prefix }],
        ["using the nginx that is already running", { pid, prefix }],
      ]);
      await second.stop();
      expect(world.host.processes.isAlive(second.serving?.masterPid ?? 0)).toBe(true);
    }));

  it("replaces an nginx that was started with other options", () =>
    nginxWorld(async (world) => {
      const first = world.supervisor();
      await first.start();
      await first.stop();
      const second = world.supervisor({ workers: 2 });
      await second.start();
      expect(world.starts).toBe(2);
      expect(world.host.processes.isAlive(first.serving?.masterPid ?? 0)).toBe(false);
      await second.stop();
    }));

  it("starts nginx again within a moment of its death", () =>
    nginxWorld(async (world) => {
      const served: number[] = [];
      const supervisor = world.supervisor({ onServing: () => served.push(world.simulation.now()) });
      await supervisor.start();
      await world.simulation.sleep(30_000);
      const killedAt = world.simulation.now();
      killAll(world, supervisor);
      await world.simulation.sleep(1_000);
      expect(served.length).toBe(2);
      expect((served[1] ?? 0) - killedAt).toBeLessThan(100);
      await supervisor.stop();
    }));

  it("waits longer and longer between starts of an nginx that keeps dying", () =>
    nginxWorld(async (world) => {
      const supervisor = world.supervisor();
      await supervisor.start();
      for (let tenths = 0; tenths < 600; tenths += 1) {
        killAll(world, supervisor);
        await world.simulation.sleep(100);
      }
      expect(world.starts).toBeGreaterThan(5);
      expect(world.starts).toBeLessThan(15);
      await supervisor.stop();
    }));

  it("replaces workers that have lost their master", () =>
    nginxWorld(async (world) => {
      const supervisor = world.supervisor();
      await supervisor.start();
      const before = supervisor.serving;
      world.host.processes.kill(before?.masterPid ?? 0, "SIGKILL");
      await world.simulation.sleep(10_000);
      expect(world.starts).toBe(2);
      expect(world.host.processes.isAlive(before?.workerPids[0] ?? 0)).toBe(false);
      expect(supervisor.serving?.bootId).not.toBe(before?.bootId);
      await supervisor.stop();
    }));

  it("replaces an nginx that no longer answers", () =>
    nginxWorld(async (world) => {
      const supervisor = world.supervisor();
      await supervisor.start();
      const before = supervisor.serving;
      for (let count = 0; count < 3; count += 1) world.script(/state/, () => undefined);
      await world.simulation.sleep(30_000);
      expect(world.starts).toBe(2);
      expect(world.host.processes.isAlive(before?.masterPid ?? 0)).toBe(false);
      await supervisor.stop();
    }));

  it("bears with an nginx that misses one check", () =>
    nginxWorld(async (world) => {
      const supervisor = world.supervisor();
      await supervisor.start();
      world.script(/state/, () => undefined);
      await world.simulation.sleep(30_000);
      expect(world.starts).toBe(1);
      await supervisor.stop();
    }));

  it("fails at its start when nginx does, and says why", () =>
    nginxWorld(async (world) => {
      world.complaint = "bind() to 10.0.0.1:8080 failed (98: Address already in use)";
      const supervisor = world.supervisor();
      await expect(supervisor.start()).rejects.toThrow(
        "nginx did not start: bind() to 10.0.0.1:8080 failed (98: Address already in use). " +
          "Another program uses this port. Stop it, or choose another port or address.",
      );
      await expect(world.supervisor({ program: "nginy" }).start()).rejects.toThrow(
        "no program nginy on this host",
      );
      await supervisor.stop();
    }));

  it("keeps trying when a later start fails", () =>
    nginxWorld(async (world) => {
      const supervisor = world.supervisor();
      await supervisor.start();
      world.complaint = "no space left on device";
      killAll(world, supervisor);
      await world.simulation.sleep(20_000);
      expect([supervisor.serving, supervisor.problem]).toEqual([
        undefined,
        "nginx did not start: no space left on device",
      ]);
      world.complaint = undefined;
      await world.simulation.sleep(20_000);
      expect(world.starts).toBe(2);
      expect(supervisor.serving).toBeDefined();
      expect(supervisor.problem).toBeUndefined();
      await supervisor.stop();
    }));

  it("ends nginx when asked to, and leaves no socket file", () =>
    nginxWorld(async (world) => {
      const supervisor = world.supervisor();
      await supervisor.start();
      await world.host.files.write(`${prefix}/control/control.sock`, "");
      await supervisor.stopNginx();
      const { masterPid = 0, workerPids = [] } = supervisor.serving ?? {};
      expect([masterPid, ...workerPids].filter((pid) => world.host.processes.isAlive(pid))).toEqual(
        [],
      );
      expect(await world.host.files.list(`${prefix}/control`)).toEqual([]);
      await supervisor.stopNginx();
      expect(world.starts).toBe(1);
    }));

  it.each([
    ["a prefix that is not absolute", { prefix: "nginx" }],
    ["a prefix that would need quoting", { prefix: "/tmp/a b;" }],
    ["a prefix too long for a socket", { prefix: `/${"long/".repeat(30)}` }],
    ["a name in place of an address", { listen: [{ address: "a;b", port: 80 }] }],
    ["a port that is none", { listen: [{ address: "10.0.0.1", port: 0 }] }],
    ["no address", { listen: [] }],
    ["no worker", { workers: 0 }],
  ])("refuses %s before it writes anything", (_, options) =>
    nginxWorld(async (world) => {
      await expect(world.supervisor(options).start()).rejects.toThrow(NginxOptionsError);
      expect(await world.host.files.list(prefix)).toEqual([]);
      expect(world.starts).toBe(0);
    }),
  );
});

function killAll(world: NginxWorld, supervisor: ReturnType<NginxWorld["supervisor"]>): void {
  const { masterPid = 0, workerPids = [] } = supervisor.serving ?? {};
  for (const pid of [masterPid, ...workerPids]) world.host.processes.kill(pid, "SIGKILL");
}

async function text(world: NginxWorld, name: string): Promise<string> {
  return Buffer.from((await world.host.files.read(`${prefix}/${name}`)) ?? []).toString("utf8");
}
