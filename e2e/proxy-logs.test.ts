// nginx's logs: one line a request, bounded in rate and in size; and nginx as an unprivileged user.
import { chmodSync, chownSync, statSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ProxyWorld, withoutNginx } from "./proxy-world.ts";
import { exchange } from "./raw-clients.ts";

/** Of one namespace alone: half of what proxy/lua/lockstep/access_log.lua has. */
const linesPerSecond = 1000;

interface Line {
  readonly target: string;
  readonly suppressed: number;
  readonly [field: string]: unknown;
}

async function linesOf(world: ProxyWorld, name = "access.log"): Promise<readonly Line[]> {
  const log = Buffer.from(
    (await world.environment.files.read(`${world.prefix}/logs/${name}`)) ?? [],
  );
  // A reader may see the beginning of what is just being written.
  const whole = log.subarray(0, log.lastIndexOf("\n") + 1);
  const lines = whole.toString("utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Line);
}

/**
 * Requests go on until the log has lines again, as in each new second, and each request is in the log or counted.
 * Returns the lines, and how many of these requests there were.
 */
async function untilAllCounted(world: ProxyWorld, requests: number) {
  for (let asked = 1; ; asked += 1) {
    await world.ask("none.example", "/last");
    await world.environment.timers.sleep(5);
    const lines = await linesOf(world);
    const suppressed = lines.reduce((sum, line) => sum + line.suppressed, 0);
    if (lines.length + suppressed === requests + asked) return { lines, suppressed, asked };
  }
}

describe.skipIf(withoutNginx !== false)("the access log", () => {
  it("names the endpoint, and what it leaves out it counts", () =>
    ProxyWorld.use(async (world) => {
      await world.supervisor({ workers: 1 }).start();
      const web = await world.backend("web");
      await world.pusher().push({ hosts: { "a.example": "s" }, services: { s: [web.peer] } });
      await world.ask("a.example", "/first?x=1");
      // So many that they cannot each have their place in a second, however long they take.
      const requests = 9 * linesPerSecond;
      const place = { host: "127.0.0.1", port: world.port };
      const one = "GET /many HTTP/1.1\r\nHost: none.example\r\n\r\n";
      const last = "GET /many HTTP/1.1\r\nHost: none.example\r\nConnection: close\r\n\r\n";
      await exchange(place, [one.repeat(requests - 1) + last]);
      const { lines, suppressed } = await untilAllCounted(world, 1 + requests);
      const [first] = lines;
      expect(first).toMatchObject({
        client: "127.0.0.1",
        protocol: "HTTP/1.1",
        tls: "",
        method: "GET",
        host: "a.example",
        target: "/first?x=1",
        status: 200,
        service: "s",
        endpoint: expect.stringContaining("c1/"),
        upstream: web.peer,
        suppressed: 0,
      });
      expect(suppressed).toBeGreaterThan(0);
    }));

  it("has the lines of a namespace, however many those of others, or of no route, are", () =>
    ProxyWorld.use(async (world) => {
      await world.supervisor({ workers: 1 }).start();
      const web = await world.backend("web");
      await world.pusher().push({
        hosts: { "quiet.example": "quiet/s", "shut.example": "shut/s" },
        services: { "quiet/s": [web.peer], "shut/s": [] },
      });
      const place = { host: "127.0.0.1", port: world.port };
      const ask = (host: string, end = "") =>
        `GET /${host} HTTP/1.1\r\nHost: ${host}\r\n${end}\r\n`;
      const crowd = ask("none.example").repeat(linesPerSecond);
      const few = ask("quiet.example") + ask("shut.example");
      const rounds = 9;
      const end = ask("none.example", "Connection: close\r\n");
      await exchange(place, [(crowd + few).repeat(rounds) + end]);
      const { lines } = await untilAllCounted(world, rounds * (linesPerSecond + 2) + 1);
      const count = (host: string) => lines.filter(({ target }) => target === `/${host}`).length;
      expect(count("quiet.example")).toBe(rounds);
      expect(count("shut.example")).toBe(rounds);
      expect(count("none.example")).toBeLessThan(rounds * linesPerSecond);
    }));

  it("counts a long line as several, so that clients cannot fill the disk", () =>
    ProxyWorld.use(async (world) => {
      await world.supervisor({ workers: 1 }).start();
      await world.pusher().push({ hosts: {}, services: { s: [] } });
      const target = `/${"long".repeat(1_000)}`;
      const requests = 2_000;
      const place = { host: "127.0.0.1", port: world.port };
      const beganAt = world.environment.clock.monotonicMs();
      const one = `GET ${target} HTTP/1.1\r\nHost: none.example\r\n\r\n`;
      const last = `GET ${target} HTTP/1.1\r\nHost: none.example\r\nConnection: close\r\n\r\n`;
      await exchange(place, [one.repeat(requests - 1) + last]);
      const { lines, asked } = await untilAllCounted(world, requests);
      const tookMs = world.environment.clock.monotonicMs() - beganAt;
      const seconds = Math.ceil(tookMs / 1_000) + 1;
      expect(lines.length - asked).toBeLessThanOrEqual((seconds * linesPerSecond) / 8);
    }));

  it("starts again when it is too large, and keeps the old one", () =>
    ProxyWorld.use(async (world) => {
      await world.supervisor({ workers: 1, logMaxBytes: 4_000 }).start();
      // One line that is too much by itself: of several, the first might begin a file alone.
      const path = `/${"long".repeat(1_000)}`;
      await world.pusher().push({ hosts: {}, services: { s: [] } });
      await world.ask("none.example", path);
      await world.until(async () => (await linesOf(world, "access.log.1")).length > 0);
      const targetsIn = async (file?: string) =>
        (await linesOf(world, file)).map(({ target }) => target);
      // nginx opens the new file a moment after the old one has been renamed.
      for (let asked = 1; (await targetsIn()).length === 0; asked += 1) {
        await world.ask("none.example", "/after");
        await world.until(async () => {
          const written = [...(await targetsIn("access.log.1")), ...(await targetsIn())];
          return written.filter((target) => target === "/after").length === asked;
        });
      }
      const [first, ...others] = await targetsIn("access.log.1");
      expect(first).toBe(path);
      expect([...new Set([...others, ...(await targetsIn())])]).toEqual(["/after"]);
    }));
});

const nobody = 65_534;
const cannotChangeUser = process.getuid?.() !== 0 ? "only root can try another user" : withoutNginx;

describe.skipIf(cannotChangeUser !== false)("as an ordinary user", () => {
  it("serves plain and with TLS, and no other user has access to its socket and keys", () =>
    ProxyWorld.use(async (world) => {
      const { prefix, port } = world;
      chownSync(prefix, nobody, nobody);
      // Lockstep creates the folders of the prefix; here that is root.
      const program = `${prefix}/nginx-as-nobody`;
      writeFileSync(
        program,
        `#!/bin/sh\nchown -R ${nobody}:${nobody} ${prefix}\n` +
          `exec setpriv --reuid ${nobody} --regid ${nobody} --clear-groups /usr/sbin/nginx "$@"\n`,
      );
      chmodSync(program, 0o755);
      const listen = [
        { address: "127.0.0.1", port },
        { address: "127.0.0.2", port, tls: true },
      ];
      const supervisor = world.supervisor({ workers: 1, listen, program });
      await supervisor.start();
      const web = await world.backend("web");
      await world.pusher().push({ hosts: { h: "s" }, services: { s: [web.peer] } });
      expect(await world.ask("h")).toEqual({ status: 200, body: "web" });
      const url = `https://127.0.0.2:${port}/`;
      const { processes } = world.environment;
      const args = ["-sk", "-H", "Host: h", url];
      const { output } = await processes.run("curl", args, { timeoutMs: 240_000 });
      expect(output).toBe("web");
      const { masterPid, workerPids } = await world.control().state();
      for (const pid of [masterPid, ...workerPids]) {
        expect(statSync(`/proc/${pid}`).uid).toBe(nobody);
      }
      const modes = ["control", "run/fallback.key"].map((name) =>
        (statSync(`${prefix}/${name}`).mode & 0o777).toString(8),
      );
      expect(modes).toEqual(["700", "600"]);
      await supervisor.stopNginx(0);
    }));
});
