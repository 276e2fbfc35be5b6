import { describe, expect, it } from "vitest";
import { decide, nginxWorld, refusal } from "../../../tests/nginx/nginx-world.ts";
import { roomAgainMs } from "./nginx-pusher.ts";

const web = (...endpoints: string[]) => ({ hosts: { h: "web" }, services: { web: endpoints } });

describe("a pusher", () => {
  it("loads everything once, then pushes only what changed", () =>
    nginxWorld(async (world) => {
      await world.startNginx();
      const pusher = world.pusher();
      pusher.start();
      decide(pusher, { ...web("p1:80"), services: { web: ["p1:80"], other: [] } }, 1);
      await world.simulation.sleep(100);
      expect(world.take()).toEqual([
        "GET /state",
        "POST /loads",
        "PUT /loads/1",
        "POST /loads/1/commit",
      ]);
      expect(await world.ask("h")).toBe("502");
      decide(pusher, { ...web(), services: { web: [], other: [] } }, 2);
      await world.simulation.sleep(100);
      expect(world.take()).toEqual(["PUT /changes"]);
      expect(await world.ask("h")).toBe("503");
      await pusher.stop();
    }));

  it("pushes nothing before the first decision", () =>
    nginxWorld(async (world) => {
      await world.startNginx();
      const pusher = world.pusher();
      pusher.start();
      await world.simulation.sleep(60_000);
      expect(world.take()).toEqual([]);
      await pusher.stop();
    }));

  it("says which of its endpoints requests could not reach", () =>
    nginxWorld(async (world) => {
      const { signal } = new AbortController();
      const pusher = world.pusher();
      expect(await pusher.report(undefined, signal)).toBeUndefined();
      await world.startNginx();
      world.script(/suspects/, refusal(404, "UNKNOWN"));
      expect(await pusher.report(undefined, signal)).toBeUndefined();
      expect(await pusher.report(undefined, signal)).toEqual({ revision: 0, unreached: [] });
      pusher.start();
      world.simulation.host("dead");
      decide(pusher, web("dead:80"), 1);
      await world.simulation.sleep(100);
      expect(await world.ask("h")).toBe("502");
      expect(await pusher.report(undefined, signal)).toEqual({
        revision: 2,
        unreached: [{ key: "dead 80 uid-of-dead:80", ageMs: expect.any(Number) }],
      });
      const other = world.pusher();
      expect(await other.report(undefined, signal)).toEqual({ revision: 2, unreached: [] });
      await pusher.stop();
    }));

  it("puts together what changes while a push is under way", () =>
    nginxWorld(async (world) => {
      await world.startNginx();
      const pusher = world.pusher();
      pusher.start();
      decide(pusher, web(), 1);
      await world.simulation.sleep(100);
      world.take();
      world.script(/changes/, async (exchange) => {
        await world.simulation.sleep(500);
        exchange.respond(200).end(Buffer.from("{}"));
      });
      for (let version = 2; version < 20; version += 1) {
        decide(pusher, web(`p${version}:80`), version);
        await world.simulation.sleep(10);
      }
      await world.simulation.sleep(1000);
      expect(world.take()).toEqual(["PUT /changes", "PUT /changes"]);
      expect(world.routed.map((line) => line.split(" ")[0])).toEqual(["web@1", "web@2", "web@19"]);
      await pusher.stop();
    }));

  it("says from when each version is routed, also one that makes no difference", () =>
    nginxWorld(async (world) => {
      await world.startNginx();
      const pusher = world.pusher();
      pusher.start();
      decide(pusher, web("p1:80"), 1);
      await world.simulation.sleep(100);
      decide(pusher, web("p1:80"), 2);
      await world.simulation.sleep(100);
      decide(pusher, { hosts: {}, services: {} }, 3);
      await world.simulation.sleep(100);
      expect(world.take().filter((what) => what.includes("changes"))).toEqual(["PUT /changes"]);
      expect(world.routed.map((line) => line.split(" ")[0])).toEqual(["web@1", "web@2", "web@2"]);
      await pusher.stop();
    }));

  it("counts how many decisions were pushed, also one that came during a push for nothing", () =>
    nginxWorld(async (world) => {
      await world.startNginx();
      const pusher = world.pusher();
      pusher.start();
      const counts = () => [pusher.applied, pusher.pushed];
      decide(pusher, web(), 1);
      expect(counts()).toEqual([1, 0]);
      await world.simulation.sleep(100);
      expect(counts()).toEqual([1, 1]);
      world.script(/changes/, async (exchange) => {
        await world.simulation.sleep(500);
        exchange.respond(200).end(Buffer.from("{}"));
      });
      decide(pusher, web("p1:80"), 2);
      await world.simulation.sleep(100);
      decide(pusher, web("p1:80"), 2);
      await world.simulation.sleep(300);
      expect(counts()).toEqual([3, 1]);
      await world.simulation.sleep(300);
      expect(counts()).toEqual([3, 3]);
      await pusher.stop();
    }));

  it("loads again, at once, when nginx was restarted", () =>
    nginxWorld(async (world) => {
      const first = await world.startNginx();
      const pusher = world.pusher();
      pusher.start();
      decide(pusher, web(), 1);
      await world.simulation.sleep(100);
      world.host.processes.kill(first, "SIGKILL");
      await world.startNginx();
      await world.simulation.sleep(200);
      expect(await world.ask("h")).toBe("503");
      expect(
        await world.registry.getSingleMetricAsString("lockstep_nginx_full_loads_total"),
      ).toContain("lockstep_nginx_full_loads_total 2");
      await pusher.stop();
    }));

  it("goes on with changes when only the connection broke", () =>
    nginxWorld(async (world) => {
      world.script(/hold/, async (exchange) => {
        exchange.respond(200);
        await world.simulation.sleep(100);
        exchange.abort();
      });
      await world.startNginx();
      const pusher = world.pusher();
      pusher.start();
      decide(pusher, web(), 1);
      await world.simulation.sleep(200);
      world.take();
      decide(pusher, web("p1:80"), 2);
      await world.simulation.sleep(100);
      expect(world.take()).toEqual(["PUT /changes"]);
      await pusher.stop();
    }));

  it.each([
    ["is restarted in the same moment", "BOOT"],
    ["has lost the load", "LOAD"],
  ])("tries again when nginx %s", (_, code) =>
    nginxWorld(async (world) => {
      await world.startNginx();
      const pusher = world.pusher();
      pusher.start();
      decide(pusher, web(), 1);
      await world.simulation.sleep(100);
      world.script(/changes/, refusal(409, code));
      decide(pusher, web("p1:80"), 2);
      await world.simulation.sleep(200);
      expect(world.routed.at(-1)).toMatch(/^web@2 /);
      await pusher.stop();
    }),
  );

  it("pushes what failed again, in its newest version", () =>
    nginxWorld(async (world) => {
      await world.startNginx();
      const pusher = world.pusher();
      pusher.start();
      decide(pusher, web(), 1);
      await world.simulation.sleep(100);
      world.script(/changes/, (exchange) => exchange.abort());
      decide(pusher, web("p1:80"), 2);
      await world.simulation.sleep(5);
      decide(pusher, web("p2:80"), 3);
      await world.simulation.sleep(300);
      expect(world.routed.map((line) => line.split(" ")[0])).toEqual(["web@1", "web@3"]);
      await pusher.stop();
    }));

  it("tells what nginx had no room for again after a while", () =>
    nginxWorld(async (world) => {
      await world.startNginx();
      const pusher = world.pusher();
      pusher.start();
      decide(pusher, web(), 1);
      await world.simulation.sleep(100);
      world.take();
      world.script(/changes/, refusal(507, "NO_MEMORY"));
      decide(pusher, web("p1:80"), 2);
      await world.simulation.sleep(roomAgainMs - 100);
      expect(world.routed.map((line) => line.split(" ")[0])).toEqual(["web@1"]);
      await world.simulation.sleep(200);
      expect(world.routed.map((line) => line.split(" ")[0])).toEqual(["web@1", "web@2"]);
      expect(world.take()).toEqual(["PUT /changes", "PUT /changes"]);
      await pusher.stop();
    }));

  it("leaves out what its namespace uses most of when nginx has less room than was counted on", () =>
    nginxWorld(async (world) => {
      await world.startNginx();
      const pusher = world.pusher();
      const peers = Array.from({ length: 300 }, (_, n) => `10.0.${n >> 8}.${n & 255}:80`);
      const services = {
        "quiet/web:80": ["p1:80"],
        "flood/web:80": peers,
        "flood/s:80": ["p2:80"],
      };
      for (let left = 7; left > 0; left -= 1)
        world.script(/loads\/\d+$/, refusal(507, "NO_MEMORY"));
      pusher.start();
      decide(pusher, { hosts: { h: "quiet/web:80" }, services }, 1);
      await world.simulation.sleep(20_000);
      expect(world.routed.map((line) => line.split(" ")[0])).toEqual([
        "quiet/web:80@1",
        "flood/s:80@1",
      ]);
      expect(pusher.state.leftOut()).toEqual([
        { kind: "service", name: "flood/web:80", namespace: "flood", hosts: [] },
      ]);
      pusher.state.countOnAll();
      expect(pusher.state.leftOut()).toEqual([]);
      await pusher.stop();
    }));

  it("does not try without end faster what fails with every push", () =>
    nginxWorld(async (world) => {
      await world.startNginx();
      const pusher = world.pusher();
      pusher.start();
      decide(pusher, web(), 1);
      await world.simulation.sleep(100);
      world.take();
      for (let left = 1_000; left > 0; left -= 1) world.script(/changes/, refusal(500, "FAILED"));
      decide(pusher, web("p1:80"), 2);
      await world.simulation.sleep(60_000);
      const tries = world.take().filter((what) => what.includes("changes")).length;
      expect(tries).toBeGreaterThan(20);
      expect(tries).toBeLessThan(60);
      await pusher.stop();
    }));

  it("asks a silent socket again and again, but not without end faster", () =>
    nginxWorld(async (world) => {
      const pusher = world.pusher();
      pusher.start();
      decide(pusher, web(), 1);
      await world.simulation.sleep(10 * 60_000);
      await world.startNginx();
      await world.simulation.sleep(4_000);
      expect(world.routed.length).toBe(1);
      const failures = await world.registry
        .getSingleMetric("lockstep_nginx_push_failures_total")
        ?.get();
      const [silent] = failures?.values ?? [];
      expect(silent?.labels).toEqual({ code: "SILENT" });
      expect(silent?.value).toBeGreaterThan(150);
      expect(silent?.value).toBeLessThan(320);
      const lines = world.simulation.logLines().filter(({ level }) => level !== "debug");
      const messages = lines.map(({ level, message }) => `${level} ${message}`);
      expect(messages.at(0)).toBe("info nginx control socket does not answer; will retry");
      expect(messages.slice(-2)).toEqual([
        "info pushing to nginx works again",
        "info nginx has received the full state",
      ]);
      const warnings = new Set(messages.slice(1, -2));
      expect(warnings).toEqual(
        new Set(["warn nginx control socket does not answer; still retrying"]),
      );
      expect(messages.length - 3).toBeLessThan(12);
      await pusher.stop();
    }));

  it("does not wait for ever for an nginx that takes the connection and says nothing", () =>
    nginxWorld(async (world) => {
      await world.startNginx();
      world.script(/loads/, () => undefined);
      const pusher = world.pusher();
      pusher.start();
      decide(pusher, web(), 1);
      await world.simulation.sleep(3_000);
      expect(world.routed.length).toBe(1);
      const [failure] = world.simulation.logLines().filter(({ fields }) => "code" in fields);
      expect(failure?.fields).toMatchObject({
        code: "FAILED",
        reason: "POST /loads: no answer within 2000 ms",
      });
      await pusher.stop();
    }));

  it("leaves out an entry that nginx refuses, and routes the others", () =>
    nginxWorld(async (world) => {
      await world.startNginx();
      const pusher = world.pusher();
      pusher.start();
      const services = Object.fromEntries(
        Array.from({ length: 20 }, (_, index) => [`s${index}`, [`p:${index === 13 ? 0 : 80}`]]),
      );
      decide(pusher, { hosts: { h: "s1" }, services }, 1);
      await world.simulation.sleep(200);
      expect(world.routed.length).toBe(19);
      expect(world.routed.some((line) => line.startsWith("s13@"))).toBe(false);
      await pusher.stop();
    }));

  it("stops for good when another has taken charge", () =>
    nginxWorld(async (world) => {
      await world.startNginx();
      let superseded = 0;
      const older = world.pusher({
        onSuperseded: () => {
          superseded += 1;
        },
      });
      const newer = world.pusher();
      older.start();
      decide(older, web("old:80"), 1);
      await world.simulation.sleep(100);
      newer.start();
      decide(newer, web(), 1);
      await world.simulation.sleep(100);
      decide(older, web("old:80", "older:80"), 2);
      await world.simulation.sleep(60_000);
      expect(superseded).toBe(1);
      expect(await world.ask("h")).toBe("503");
      await Promise.all([older.stop(), newer.stop(), older.stop()]);
    }));
});
