// nginx and Lockstep live and die separately: a killed one comes back, the other serves, and the
// state is right afterwards.
import { describe, expect, it } from "vitest";
import { ControlError } from "../src/outputs/nginx/control-answer.ts";
import { isRunning } from "./is-running.ts";
import { ProxyWorld, withoutNginx } from "./proxy-world.ts";

describe.skipIf(withoutNginx !== false)("a proxy's life", () => {
  it("keeps its state when a worker is killed", () =>
    ProxyWorld.use(async (world) => {
      await world.supervisor({ workers: 2 }).start();
      const web = await world.backend("web");
      const pusher = world.pusher();
      await pusher.push({ hosts: { h: "s" }, services: { s: [web.peer] } });
      const before = await world.control().state();
      for (const pid of before.workerPids) world.environment.processes.kill(pid, "SIGKILL");
      await world.until(async () => (await world.ask("h")).status === 200);
      const after = await world.control().state();
      expect(after.bootId).toBe(before.bootId);
      expect(after.workerPids).not.toEqual(before.workerPids);
      await pusher.push({ hosts: { g: "s" }, services: { s: [web.peer] } });
      expect(await world.askMany("g", 20)).toEqual({ "200 web": 20 });
      expect(pusher.loads).toBe(1);
    }));

  it("keeps its state, and serves all the while, when its configuration is reloaded", () =>
    ProxyWorld.use(async (world) => {
      await world.supervisor({ workers: 1 }).start();
      const web = await world.backend("web");
      const pusher = world.pusher();
      await pusher.push({ hosts: { h: "s" }, services: { s: [web.peer] } });
      const before = await world.control().state();
      world.environment.processes.kill(before.masterPid, "SIGHUP");
      const statuses = new Set<number>();
      await world.until(async () => {
        statuses.add((await world.ask("h")).status);
        const { workerPids } = await world.control().state();
        return workerPids.every((pid) => !before.workerPids.includes(pid));
      });
      await pusher.push({ hosts: { g: "s", h: "s" }, services: { s: [web.peer] } });
      for (const host of ["g", "h"]) statuses.add((await world.ask(host)).status);
      expect([...statuses]).toEqual([200]);
      expect((await world.control().state()).masterPid).toBe(before.masterPid);
    }));

  it("is started again when all of it is killed, and loaded again", () =>
    ProxyWorld.use(async (world) => {
      await world.supervisor().start();
      const web = await world.backend("web");
      const pusher = world.pusher();
      await pusher.push({ hosts: { h: "s" }, services: { s: [web.peer] } });
      const before = await world.control().state();
      for (const pid of [before.masterPid, ...before.workerPids]) {
        world.environment.processes.kill(pid, "SIGKILL");
      }
      // The new one serves what the old one saved until it is loaded.
      await world.until(() => pusher.loads === 2);
      expect((await world.ask("h")).status).toBe(200);
      const after = await world.control().state();
      expect(after.bootId).not.toBe(before.bootId);
      expect(after.masterPid).not.toBe(before.masterPid);
    }));

  it("is replaced when only its master is killed", () =>
    ProxyWorld.use(async (world) => {
      await world.supervisor().start();
      const web = await world.backend("web");
      const pusher = world.pusher();
      await pusher.push({ hosts: { h: "s" }, services: { s: [web.peer] } });
      const before = await world.control().state();
      const { processes } = world.environment;
      processes.kill(before.masterPid, "SIGKILL");
      await world.until(() => pusher.loads === 2);
      expect(await world.ask("h")).toEqual({ status: 200, body: "web" });
      const after = await world.control().state();
      expect(processes.isAlive(after.masterPid)).toBe(true);
      expect(before.workerPids.filter(isRunning)).toEqual([]);
    }));

  it("goes on when Lockstep ends, and is adopted by the next", () =>
    ProxyWorld.use(async (world) => {
      const first = world.supervisor();
      await first.start();
      const web = await world.backend("web");
      const pusher = world.pusher();
      await pusher.push({ hosts: { h: "s" }, services: { s: [web.peer] } });
      await Promise.all([pusher.stop(), first.stop()]);
      expect(await world.ask("h")).toEqual({ status: 200, body: "web" });
      const before = await world.control().state();
      const second = world.supervisor();
      await second.start();
      expect(second.serving?.bootId).toBe(before.bootId);
      expect(await world.ask("h")).toEqual({ status: 200, body: "web" });
      await world.pusher().push({ hosts: { g: "s" }, services: { s: [web.peer] } });
      expect([(await world.ask("g")).status, (await world.ask("h")).status]).toEqual([200, 404]);
    }));

  it("is replaced by one with the options that are asked for now", () =>
    ProxyWorld.use(async (world) => {
      const first = world.supervisor({ workers: 1 });
      await first.start();
      await first.stop();
      const before = await world.control().state();
      await world.supervisor({ workers: 3 }).start();
      // The first worker may answer before the last has begun.
      await world.until(async () => (await world.control().state()).workerPids.length === 3);
      expect((await world.control().state()).bootId).not.toBe(before.bootId);
    }));

  it("ends when asked to and lets requests finish, leaving no process, socket or port", () =>
    ProxyWorld.use(async (world) => {
      const supervisor = world.supervisor();
      await supervisor.start();
      let asked: () => void = () => undefined;
      const arrived = new Promise<void>((resolve) => {
        asked = resolve;
      });
      const slow = await world.backend("slow", async (exchange) => {
        asked();
        await world.environment.timers.sleep(300);
        exchange.respond(200).end(Buffer.from("slow"));
      });
      await world.pusher().push({ hosts: { h: "s" }, services: { s: [slow.peer] } });
      const { masterPid, workerPids } = await world.control().state();
      const answer = world.ask("h");
      await arrived;
      await supervisor.stopNginx();
      expect(await answer).toEqual({ status: 200, body: "slow" });
      const { files } = world.environment;
      expect([masterPid, ...workerPids].filter(isRunning)).toEqual([]);
      expect(await files.list(`${world.prefix}/control`)).toEqual([]);
      expect((await world.ask("h")).status).toBe(0);
      await supervisor.stopNginx();
    }));

  it("says what is wrong when it cannot start", () =>
    ProxyWorld.use(async (world) => {
      const { network } = world.environment;
      const listener = await network.listen(
        { host: "127.0.0.1", port: world.port },
        () => undefined,
      );
      await expect(world.supervisor().start()).rejects.toThrow(
        `nginx did not start: bind() to 127.0.0.1:${world.port} failed (98: Address already in use)`,
      );
      await listener.close();
    }));

  it("obeys the newest pusher; the older is refused and stops", () =>
    ProxyWorld.use(async (world) => {
      await world.supervisor().start();
      const [one, two] = [await world.backend("one"), await world.backend("two")];
      let superseded = 0;
      const older = world.pusher({
        onSuperseded: () => {
          superseded += 1;
        },
      });
      await older.push({ hosts: { h: "s" }, services: { s: [one.peer] } });
      const { bootId, epoch, owner } = await world.control().state();
      await world.pusher().push({ hosts: { h: "s" }, services: { s: [two.peer] } });
      older.decide({ hosts: { h: "s" }, services: { s: [one.peer, two.peer] } });
      await world.until(() => superseded === 1);
      expect(await world.askMany("h", 20)).toEqual({ "200 two": 20 });
      const control = world.control();
      const old = { bootId, epoch, owner };
      expect(await codeOf(control.change(old, "{}"))).toBe("EPOCH");
      expect(await codeOf(control.beginLoad(old))).toBe("EPOCH");
      expect(await codeOf(control.beginLoad({ ...old, epoch: 9, bootId: "other" }))).toBe("BOOT");
    }));
});

describe.skipIf(withoutNginx !== false)("hostile strings", () => {
  it("are taken literally in hosts, paths and services, and never become configuration", () =>
    ProxyWorld.use(async (world) => {
      await world.supervisor().start();
      const web = await world.backend("web");
      const hostile = "d/x\"; return 200 'pwned'; #$uri {\n}\\u0000";
      const pusher = world.pusher();
      await pusher.push({
        hosts: { 'h"; return 200; #': hostile, $host: hostile, h: hostile },
        services: { [hostile]: [web.peer] },
      });
      expect(await world.ask("h", "/a%22%3B%0A$%7Buri%7D?q=;--")).toEqual({
        status: 200,
        body: "web",
      });
      expect(web.requests).toEqual(["GET /a%22%3B%0A$%7Buri%7D?q=;--"]);
      expect((await world.ask("$host")).status).toBe(200);
      const twoHosts = await world.askRaw("GET http://x/ HTTP/1.1\r\nHost: h\r\n\r\n");
      expect(twoHosts).toMatch(/^HTTP\/1.1 404 /);
    }));

  it("are refused by themselves when they are no address or path; the others are routed", () =>
    ProxyWorld.use(async (world) => {
      await world.supervisor().start();
      const web = await world.backend("web");
      const pusher = world.pusher();
      pusher.decide({
        hosts: { h: "good", i: "bad" },
        services: { good: [web.peer], bad: ["evil.example:80"], worse: ["127.0.0.1:99999"] },
      });
      await world.until(async () => (await world.ask("h")).status === 200);
      await world.until(async () => (await world.ask("i")).status === 503);
      expect((await world.ask("h")).status).toBe(200);
    }));
});

async function codeOf(attempt: Promise<unknown>): Promise<string> {
  const error = await attempt.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return error instanceof ControlError ? error.code : String(error);
}
