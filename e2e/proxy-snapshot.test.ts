// An nginx that comes back alone: it serves by a state that was saved whole, and by nothing else;
// whatever is in the file, it starts.
import { describe, expect, it } from "vitest";
import type { WallMs } from "../src/environment/clock.ts";
import { makeFallbackCertificate } from "../src/outputs/nginx/fallback-certificate.ts";
import type { ProxyEntry } from "../src/outputs/nginx/proxy-state.ts";
import {
  entryLines,
  SnapshotContent,
  snapshotAgeMaxMs,
} from "../src/outputs/nginx/snapshot-format.ts";
import { snapshotPathOf } from "../src/outputs/nginx/state-snapshot.ts";
import { ProxyWorld, withoutNginx } from "./proxy-world.ts";

describe.skipIf(withoutNginx !== false)("a saved state", () => {
  it("is served by, but for the entries that nginx refuses, until the next push", () =>
    ProxyWorld.use(async (world) => {
      const web = await world.backend("web");
      const { clock } = world.environment;
      const bad = entry("host", "bad", [{ path: "no slash", type: "Prefix", service: "d/s:80" }]);
      const certificate = entry("certificate", "d/tls", await makeFallbackCertificate());
      const lines = [serviceAt(web.peer), certificate, entry("host", "h", toService), bad]
        .map((one) => entryLines(one, { uids: ["uid"], states: ["draining"] }))
        .join("");
      await save(world, contentOf(lines, clock.wallMs()));
      await world.supervisor({ workers: 2 }).start();
      expect(await world.askMany("h", 10)).toEqual({ "200 web": 10 });
      expect((await world.ask("bad")).status).toBe(404);
      const { generation, epoch } = await world.control().state();
      expect({ generation, epoch }).toEqual({ generation: 1, epoch: 0 });
      expect(await errorLog(world)).toContain("1 entries of the saved state");
      const other = await world.backend("other");
      await world.pusher().push({ hosts: { g: "s" }, services: { s: [other.peer] } });
      expect(await world.askMany("g", 10)).toEqual({ "200 other": 10 });
      expect((await world.ask("h")).status).toBe(404);
    }));

  const lines = entryLines(entry("host", "h", toService), { uids: [] });
  it.each<[string, (now: WallMs) => Buffer, string]>([
    ["is garbage", () => Buffer.from([0, 255, 10, 7]), "it is not a saved state"],
    ["is empty", () => Buffer.of(), "it is not a saved state"],
    ["was cut", (now) => contentOf(lines, now).subarray(0, -3), "it is incomplete or damaged"],
    [
      "was changed",
      (now) => Buffer.from(contentOf(lines, now).toString().replace("d/s", "d/t")),
      "it is incomplete or damaged",
    ],
    [
      "is of another version",
      (now) => Buffer.from(contentOf(lines, now).toString().replace('"format":2', '"format":1')),
      "it is of another version",
    ],
    [
      "is too old",
      // An instant before now is one as well.
      (now) => contentOf(lines, (now - snapshotAgeMaxMs - 5_000) as WallMs),
      "it is too old",
    ],
  ])("that %s is not used, and nginx starts", (_, content, reason) =>
    ProxyWorld.use(async (world) => {
      await save(world, content(world.environment.clock.wallMs()));
      await world.supervisor({ workers: 1 }).start();
      expect((await world.control().state()).generation).toBe(0);
      expect(await errorLog(world)).toContain(reason);
    }),
  );
});

const toService = [{ path: "/", type: "Prefix", service: "d/s:80" }];

function entry(kind: ProxyEntry["kind"], name: string, value: object): ProxyEntry {
  return { kind, name, value: JSON.stringify(value), version: 1 };
}

function serviceAt(peer: string): ProxyEntry {
  const [address = "", port] = peer.split(":");
  return entry("service", "d/s:80", {
    tiers: [1],
    addresses: [address],
    ports: [Number(port)],
    slots: [1],
    names: [`c/d/${address}`],
  });
}

function contentOf(lines: string, savedAtMs: WallMs): Buffer {
  const content = new SnapshotContent();
  content.add(lines);
  return content.finish(savedAtMs);
}

async function save({ environment, prefix }: ProxyWorld, content: Buffer): Promise<void> {
  await environment.files.makeDirectory(`${prefix}/state`);
  await environment.files.write(snapshotPathOf(prefix), content, { mode: 0o600 });
}

async function errorLog({ environment, prefix }: ProxyWorld): Promise<string> {
  const content = await environment.files.read(`${prefix}/logs/error.log`);
  return Buffer.from(content ?? []).toString("utf8");
}
