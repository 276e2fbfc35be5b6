import { expect, it } from "vitest";
import type { EndpointState } from "../../decide/decision.ts";
import type { WallMs } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import { simulate } from "../../simulation/simulation.ts";
import type { ProxyEntry } from "./proxy-state.ts";
import { entryLines, readSnapshot, SnapshotContent } from "./snapshot-format.ts";
import { type SavedSource, StateSnapshot, saveAfterMs, saveEveryMs } from "./state-snapshot.ts";

const service = (name: string, value: object): ProxyEntry => ({
  kind: "service",
  name,
  value: JSON.stringify(value),
  version: 1,
});

const web = service("d/web:80", {
  tiers: [2],
  addresses: ["10.0.0.1", "fd00::2"],
  ports: [80, 8080],
  slots: [1, 2],
  names: ["a:b/east/d/web-1", "a:b/east/fd00::2"],
});

const host: ProxyEntry = { kind: "host", name: "h", value: "[]", version: 0 };

const source: SavedSource = {
  entries: () => [web, host],
  known: () => new Map([["east ingresses", 3]]),
  details: () => (name) => ({ uids: name === web.name ? ["uid-1", ""] : [] }),
};

const path = "/nginx/state/snapshot.jsonl";

function content(lines: string, savedAtMs = 5): Buffer {
  const saved = new SnapshotContent();
  for (const line of lines.match(/.*\n/g) ?? []) saved.add(line);
  // Any instant.
  return saved.finish(savedAtMs as WallMs);
}

const whole = entryLines(web, { uids: ["uid-1", ""] }) + entryLines(host, { uids: [] });

it("gives back whose endpoints were saved", () => {
  expect(readSnapshot(content(whole))).toEqual({
    savedAtMs: 5,
    services: new Map([
      [
        "d/web:80",
        [
          {
            cluster: "a:b/east",
            address: "10.0.0.1",
            port: 80,
            podUid: "uid-1",
            podName: "web-1",
          },
          { cluster: "a:b/east", address: "fd00::2", port: 8080 },
        ],
      ],
    ]),
    known: new Map(),
  });
});

it("gives back which of them were leaving or could not be reached, and no other state", () => {
  const statesOf = (states: readonly EndpointState[]) => {
    const saved = readSnapshot(content(entryLines(web, { uids: ["", ""], states })));
    return saved?.services.get(web.name)?.map(({ state }) => state);
  };
  expect(statesOf(["held", "draining"])).toEqual([undefined, "draining"]);
  expect(statesOf(["suspect", "active"])).toEqual(["suspect", undefined]);
});

it.each([
  ["an empty file", Buffer.from("")],
  ["a file that was cut", content(whole).subarray(0, -1)],
  ["a file with a changed byte", Buffer.from(content(whole).toString().replace("web-1", "web-2"))],
  ["another JSON file", Buffer.from('{"kind":"else"}\n')],
  ["no JSON at all", Buffer.from([0xff, 0x0a, 0x00])],
])("does not read %s", (_, bytes) => {
  expect(readSnapshot(bytes)).toBeUndefined();
});

/** Runs with a snapshot on a machine of its own. */
function withSnapshot(
  test: (
    snapshot: StateSnapshot,
    environment: Environment,
    said: () => readonly string[],
  ) => Promise<void>,
): Promise<void> {
  return simulate({ seed: 1 }, async (simulation) => {
    const environment = simulation.host("edge");
    const snapshot = new StateSnapshot({ ...environment, prefix: "/nginx", source });
    const said = () => simulation.logLines().map(({ message }) => message);
    await test(snapshot, environment, said);
    await snapshot.stop();
  });
}

it("is saved soon after a change, and not again at once", () =>
  withSnapshot(async (snapshot, { files, timers }) => {
    snapshot.changed();
    await timers.sleep(saveAfterMs + 10);
    const first = await files.read(path);
    const read = readSnapshot(first ?? Buffer.of());
    expect([read?.services.size, read?.known]).toEqual([1, new Map([["east ingresses", 3]])]);
    snapshot.changed();
    await timers.sleep(saveEveryMs - 100);
    expect(await files.read(path)).toEqual(first);
    await timers.sleep(200);
    expect(await files.read(path)).not.toEqual(first);
  }));

it("saves at the end what was not saved yet, and nothing after it", () =>
  withSnapshot(async (snapshot, { files, timers }) => {
    snapshot.changed();
    await snapshot.stop();
    const saved = await files.read(path);
    expect(saved).toBeDefined();
    snapshot.changed();
    await timers.sleep(10 * saveEveryMs);
    expect(await files.read(path)).toEqual(saved);
  }));

it("goes on when the disk refuses, and says so once, and once when it is over", () =>
  withSnapshot(async (snapshot, { files, timers }, said) => {
    await files.write("/nginx", "a file in the way");
    snapshot.changed();
    await timers.sleep(saveEveryMs);
    snapshot.changed();
    await timers.sleep(2 * saveEveryMs);
    await files.remove("/nginx");
    snapshot.changed();
    await timers.sleep(2 * saveEveryMs);
    expect(await files.read(path)).toBeDefined();
    expect(said()).toEqual([
      "cannot save the state; nginx could not restart without Lockstep",
      "saving the state works again",
    ]);
  }));
