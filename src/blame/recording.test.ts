import { describe, expect, test } from "vitest";
import { at, pod, slice } from "../../tests/blame/blame-world.ts";
import { type Files, FilesError } from "../environment/files.ts";
import { recordAt } from "../kube/kinds/fields.ts";
import { recordedKinds } from "../recording/recorded-kinds.ts";
import { mayRecordTo, readRecording } from "../recording/recording-file.ts";
import {
  aliveLine,
  changeLine,
  listedLine,
  parseRecordingLine,
  RecordingVersionError,
  runLine,
} from "../recording/recording-line.ts";
import { RecordingWriter } from "../recording/recording-writer.ts";
import { recordedRun } from "../recording/watched-run.ts";
import { type Simulation, simulate } from "../simulation/simulation.ts";
import { Evidence } from "./evidence.ts";
import { RecordingReader } from "./recording-reader.ts";

const path = "/pods.jsonl";

function podLine(seconds: number, object: object, change: "added" | "updated" | "deleted"): string {
  const by = change === "added" ? "list" : "watch";
  const common = { cluster: "prod", kind: "Pod", afterMs: undefined } as const;
  return changeLine({ ...common, atMs: at(seconds), change, by, json: JSON.stringify(object) });
}

function listed(seconds: number): string {
  return listedLine({ atMs: at(seconds), cluster: "prod", kind: "Pod", namespace: undefined });
}

function readLines(lines: readonly string[]) {
  const evidence = new Evidence();
  const reader = new RecordingReader(evidence);
  for (const line of lines) reader.read(line);
  return { evidence, counts: reader.counts };
}

/** The moments of web-1, each with its bounds in seconds. */
function lifeOf(evidence: Evidence): readonly (readonly [string, number, number])[] {
  const moments = evidence.lives.byUid("uid-web-1")?.moments ?? [];
  const seconds = (ms: number): number => (ms - at(0)) / 1_000;
  return moments.map(({ what, at: when }) => [what, seconds(when.fromMs), seconds(when.toMs)]);
}

describe("a line", () => {
  test("is read as it was written", () => {
    const change = podLine(5.25, pod(), "updated");
    expect(parseRecordingLine(change)).toEqual({
      type: "change",
      atMs: at(5.25),
      cluster: "prod",
      kind: "Pod",
      change: "updated",
      by: "watch",
      afterMs: undefined,
      object: pod(),
    });
    expect(parseRecordingLine(runLine({ atMs: at(1), run: "one" }))).toEqual({
      type: "run",
      atMs: at(1),
      run: "one",
      version: 2,
    });
    const alive = aliveLine({ atMs: at(2), behind: ["prod pods"] });
    expect(parseRecordingLine(alive)).toEqual({
      type: "alive",
      atMs: at(2),
      behind: ["prod pods"],
    });
  });

  test.each([
    "",
    "{",
    "null",
    "[1]",
    "{}",
    '{"at":"yesterday","alive":true}',
    '{"at":"2026-01-01T00:00:00Z","cluster":"prod","kind":"Secret","change":"added","by":"list"}',
    podLine(1, pod(), "added").slice(0, -20),
  ])("that is none is undefined: %s", (text) => {
    expect(parseRecordingLine(text)).toBeUndefined();
  });
});

describe("what is kept of an object", () => {
  test("is what a verdict needs, in the places where Kubernetes has it", () => {
    const object = pod({ readySince: 5, deleted: 9 });
    const metadata = { ...recordAt(object, "metadata"), resourceVersion: "7", annotations: {} };
    const raw = { ...object, metadata };
    expect(JSON.parse(recordedKinds.Pod.jsonOf(raw))).toMatchInlineSnapshot(`
      {
        "metadata": {
          "creationTimestamp": "2026-01-01T12:00:00Z",
          "deletionGracePeriodSeconds": 30,
          "deletionTimestamp": "2026-01-01T12:00:39Z",
          "labels": {
            "app": "web",
          },
          "name": "web-1",
          "namespace": "shop",
          "uid": "uid-web-1",
        },
        "spec": {
          "containers": [
            {
              "name": "web",
              "readinessProbe": {},
            },
          ],
          "nodeName": "node-1",
        },
        "status": {
          "conditions": [
            {
              "lastTransitionTime": "2026-01-01T12:00:05Z",
              "status": "True",
              "type": "Ready",
            },
          ],
          "containerStatuses": [
            {
              "lastState": {},
              "name": "web",
              "state": {
                "running": {
                  "startedAt": "2026-01-01T12:00:00Z",
                },
              },
            },
          ],
          "phase": "Running",
          "podIP": "10.0.0.1",
        },
      }
    `);
  });

  test("does not change with a heartbeat while a node is well", () => {
    const node = (status: string, heartbeat: string) => ({
      metadata: { name: "n", uid: "u", resourceVersion: heartbeat },
      status: { conditions: [{ type: "Ready", status, lastHeartbeatTime: heartbeat }] },
    });
    const { jsonOf } = recordedKinds.Node;
    expect(jsonOf(node("True", "1"))).toBe(jsonOf(node("True", "2")));
    expect(jsonOf(node("Unknown", "1"))).toContain('"lastHeartbeatTime":"1"');
  });
});

describe("several runs", () => {
  const ready = pod({ readySince: 5 });
  const first = [
    runLine({ atMs: at(10), run: "a" }),
    podLine(10, ready, "added"),
    listed(10.1),
    aliveLine({ atMs: at(20), behind: [] }),
  ];

  test("what was gone at the second one's list went between the two", () => {
    const second = [runLine({ atMs: at(90), run: "b" }), listed(91)];
    const { evidence, counts } = readLines([...first, ...second]);
    expect(counts).toEqual({ lines: 6, runs: 2, unreadable: 0 });
    expect(lifeOf(evidence)).toEqual([
      ["appeared", 0, 1],
      ["ready", 5, 6],
      ["deleted", 20, 91],
    ]);
    expect(evidence.coverage).toEqual([
      { cluster: "prod", fromMs: at(10.1), toMs: at(20) },
      { cluster: "prod", fromMs: at(91), toMs: at(91) },
    ]);
  });

  test("what a list lacks that came after that of the pods went between the two as well", () => {
    const slices = (seconds: number, ips: readonly { ip: string }[], run: "added" | "updated") =>
      changeLine({
        cluster: "prod",
        kind: "EndpointSlice",
        change: run,
        by: "list",
        atMs: at(seconds),
        afterMs: undefined,
        json: JSON.stringify(slice(ips)),
      });
    const before = [...first.slice(0, -1), slices(10.2, [{ ip: "10.0.0.1" }], "added")];
    const second = [
      runLine({ atMs: at(90), run: "b" }),
      podLine(90, ready, "added"),
      listed(91),
      podLine(91.5, pod({ readySince: 5, deleted: 91 }), "updated"),
      slices(92, [], "added"),
    ];
    const { evidence } = readLines([...before, aliveLine({ atMs: at(20), behind: [] }), ...second]);
    expect(evidence.publications.ofAddress("10.0.0.1").map(({ until }) => until)).toEqual([
      { fromMs: at(20), toMs: at(92) },
    ]);
  });

  test("what was seen by one that was killed before its list was whole went since it was seen", () => {
    const list = { cluster: "prod", kind: "EndpointSlice" } as const;
    const json = JSON.stringify(slice([{ ip: "10.0.0.1" }]));
    const sliceLine = { ...list, atMs: at(11), change: "added", by: "list", json } as const;
    const killed = [...first.slice(0, 2), changeLine({ ...sliceLine, afterMs: undefined })];
    const lists = listedLine({ ...list, atMs: at(92), namespace: undefined });
    const second = [runLine({ atMs: at(90), run: "b" }), listed(91), lists];
    const { evidence } = readLines([...killed, ...second]);
    expect(lifeOf(evidence).at(-1)).toEqual(["deleted", 10, 91]);
    const [listing] = evidence.publications.ofAddress("10.0.0.1");
    expect(listing?.until).toEqual({ fromMs: at(11), toMs: at(92) });
  });

  test("what is still there is no news", () => {
    const second = [runLine({ atMs: at(90), run: "b" }), podLine(90, ready, "added"), listed(91)];
    const { evidence } = readLines([...first, ...second]);
    expect(lifeOf(evidence).map(([what]) => what)).toEqual(["appeared", "ready"]);
  });

  test("a recording of an earlier time that is read later marks no pod as deleted", () => {
    const early = [runLine({ atMs: at(-50), run: "b" }), listed(-50)];
    const { evidence } = readLines([...first, ...early]);
    expect(lifeOf(evidence).map(([what]) => what)).toEqual(["appeared", "ready"]);
  });

  test("a sign of life counts only for clusters that were not behind", () => {
    const behind = aliveLine({ atMs: at(60), behind: ["prod pods"] });
    expect(readLines([...first, behind]).evidence.coverage).toEqual([
      { cluster: "prod", fromMs: at(10.1), toMs: at(20) },
    ]);
  });

  test("what was seen by a watch that was behind happened at some time since it was not", () => {
    const update = { cluster: "prod", kind: "EndpointSlice", change: "updated" } as const;
    const lists = (seconds: number, ips: readonly { ip: string }[], afterMs?: number): string => {
      const json = JSON.stringify(slice(ips));
      return changeLine({ ...update, by: "watch", atMs: at(seconds), afterMs, json });
    };
    const late = [
      lists(12, [{ ip: "10.0.0.1" }]),
      aliveLine({ atMs: at(60), behind: ["prod endpointslices"] }),
      lists(70, [], at(30)),
      aliveLine({ atMs: at(80), behind: [] }),
    ];
    const { evidence } = readLines([...first, ...late]);
    expect(evidence.publications.ofAddress("10.0.0.1").map(({ until }) => until)).toEqual([
      { fromMs: at(30), toMs: at(70) },
    ]);
    expect(evidence.coverage.map(({ fromMs, toMs }) => [fromMs, toMs])).toEqual([
      [at(10.1), at(20)],
      [at(80), at(80)],
    ]);
  });

  test("two at the same time give the same history as one", () => {
    const recordedAfter = (by: number) => [
      runLine({ atMs: at(30), run: `run ${by}` }),
      podLine(30 + by, ready, "added"),
      listed(30.5 + by),
      podLine(60 + by, pod({ readySince: 5, deleted: 60 }), "updated"),
      podLine(90 + by, pod({ unreadySince: 90, deleted: 60 }), "deleted"),
    ];
    const once = lifeOf(readLines(recordedAfter(0)).evidence);
    expect(once.map(([what]) => what)).toEqual([
      "appeared",
      "ready",
      "terminating",
      "unready",
      "deleted",
    ]);
    expect(lifeOf(readLines([...recordedAfter(0), ...recordedAfter(0.01)]).evidence)).toEqual(once);
  });

  test("of a later form are refused, and torn or malformed lines counted", () => {
    const later = runLine({ atMs: at(1), run: "z" }).replace('"version":2', '"version":3');
    expect(() => readLines([later])).toThrow(RecordingVersionError);
    const odd = podLine(30, { metadata: { uid: "u", name: 5 } }, "updated");
    const { counts, evidence } = readLines([...first, odd, "{half", ""]);
    expect([counts.unreadable, evidence.malformed]).toEqual([1, 1]);
  });

  test("with times that no clock shows has none of them", () => {
    const far = first.map((line) => line.replace(/"at":"\d{4}/, '"at":"+275760'));
    expect(readLines(far).counts).toMatchObject({ runs: 0, unreadable: far.length });
    const metadata = {
      namespace: "shop",
      name: "web",
      uid: "u",
      deletionTimestamp: "2026-01-01T00:00:10Z",
    };
    const graced = { metadata: { ...metadata, deletionGracePeriodSeconds: 1e300 } };
    const { evidence } = readLines([...first, podLine(30, graced, "updated")]);
    const times = evidence.lives.byUid("u")?.moments.map(({ at: { fromMs } }) => fromMs) ?? [];
    expect(times.map((ms) => new Date(ms).getUTCFullYear())).toEqual([2025, 2026]);
  });
});

describe("the file", () => {
  function writerOn(
    simulation: Simulation,
    files: Pick<Files, "append" | "rename" | "size" | "write">,
    maxBytes = 1_000_000,
  ) {
    const host = simulation.host("here");
    const baseline = () => [podLine(50, pod({ readySince: 5 }), "added"), listed(50)];
    const started = { monotonicMs: host.clock.monotonicMs(), wallMs: host.clock.wallMs() };
    const run = { name: "one", watched: recordedRun({ name: "one", ...started }, []) };
    return new RecordingWriter({ ...host, files, path, maxBytes, run, baseline });
  }

  test("goes on after a run that was killed in the middle of a line", () =>
    simulate({ seed: 1 }, async (simulation) => {
      const { files } = simulation.host("here");
      for (const run of [1, 2]) {
        const writer = writerOn(simulation, files);
        await writer.start();
        writer.add(podLine(run * 10, pod({ readySince: 5 }), "added"));
        writer.add(listed(run * 10));
        await simulation.sleep(1_000);
        await files.append(path, '{"at":"2026-01-01T00:0');
      }
      const evidence = new Evidence();
      const reader = new RecordingReader(evidence);
      await readRecording(files, path, reader);
      expect(reader.counts).toEqual({ lines: 8, runs: 2, unreadable: 2 });
      expect(evidence.lives.size).toBe(1);
    }));

  test("is continued, but nothing is added to a file of something else", () =>
    simulate({ seed: 1 }, async (simulation) => {
      const { files } = simulation.host("here");
      expect(await mayRecordTo(files, path)).toBe(true);
      await files.write(path, `${runLine({ atMs: at(0), run: "a" })}\n{"at":"2026-01`);
      expect(await mayRecordTo(files, path)).toBe(true);
      for (const other of ["a log\n", "{}", "\n", '{"kind":"Pod"}\n']) {
        await files.write(path, other);
        expect(await mayRecordTo(files, path)).toBe(false);
      }
    }));

  test("is rotated, and the new one begins with all that is known", () =>
    simulate({ seed: 1 }, async (simulation) => {
      const { files } = simulation.host("here");
      const maxBytes = 20_000;
      const writer = writerOn(simulation, files, maxBytes);
      await writer.start();
      for (let index = 0; index < 200; index += 1) {
        writer.add(podLine(index, pod({ name: `web-${index}` }), "updated"));
        await simulation.sleep(300);
      }
      await writer.stop();
      const sizes = [await files.size(path), await files.size(`${path}.1`)];
      expect(Math.max(...sizes.map((size) => size ?? Infinity))).toBeLessThan(maxBytes / 2 + 3_000);
      await files.remove(`${path}.1`);
      const reader = new RecordingReader(new Evidence());
      await readRecording(files, path, reader);
      expect(reader.counts.unreadable).toBe(0);
      expect(reader.counts.runs).toBe(1);
    }));

  test("is written when the disk has room again, and nothing is lost", () =>
    simulate({ seed: 1 }, async (simulation) => {
      const { files } = simulation.host("here");
      let isFull = false;
      const append: Files["append"] = async (file, content) => {
        if (isFull) throw new FilesError("NO_SPACE", file, "no space");
        await files.append(file, content);
      };
      const writer = writerOn(simulation, {
        append,
        rename: (file, to) => files.rename(file, to),
        write: (file, content) => files.write(file, content),
        size: (file) => files.size(file),
      });
      await writer.start();
      isFull = true;
      writer.add(podLine(1, pod(), "updated"));
      await simulation.sleep(20_000);
      writer.add(podLine(2, pod(), "updated"));
      isFull = false;
      await simulation.sleep(20_000);
      await writer.stop();
      const reader = new RecordingReader(new Evidence());
      await readRecording(files, path, reader);
      expect([reader.counts.lines, writer.dropped]).toEqual([3, 0]);
    }));

  test("may have lines as long as a service with a thousand addresses needs", () =>
    simulate({ seed: 1 }, async (simulation) => {
      const { files } = simulation.host("here");
      const many = Array.from({ length: 1_000 }, (_, index) => ({
        ip: `10.1.${index >> 8}.${index & 255}`,
        uid: `uid-${index}-0000-0000-0000-000000000000`,
      }));
      const common = { cluster: "prod", kind: "EndpointSlice", afterMs: undefined } as const;
      const json = JSON.stringify(slice(many));
      const line = changeLine({ ...common, atMs: at(1), change: "added", by: "list", json });
      await files.write(path, `${runLine({ atMs: at(0), run: "a" })}\n${line}\n`);
      const evidence = new Evidence();
      await readRecording(files, path, new RecordingReader(evidence));
      expect(evidence.publications.size).toBe(1_000);
    }));
});

test("beyond the limits the oldest is forgotten, and counted", () => {
  const evidence = new Evidence({ livesMax: 2, listingsMax: 2 });
  const seen = { atMs: at(1), isWatched: true, afterMs: undefined };
  for (const name of ["a", "b", "c"]) {
    const ip = `10.0.0.${name.charCodeAt(0)}`;
    const news = { cluster: "prod", isDeleted: false, seen };
    evidence.add({ ...news, kind: "Pod", object: pod({ name, ip }) });
    evidence.add({ ...news, kind: "EndpointSlice", object: slice([{ ip, uid: name }], name) });
  }
  const { lives, publications } = evidence;
  expect([lives.size, lives.dropped, publications.size, publications.dropped]).toEqual([
    2, 1, 2, 1,
  ]);
  expect(lives.everAt("10.0.0.97")).toBeUndefined();
  expect(publications.ofAddress("10.0.0.97")).toEqual([]);
  expect(lives.everAt("10.0.0.99")?.facts.name).toBe("c");
});
