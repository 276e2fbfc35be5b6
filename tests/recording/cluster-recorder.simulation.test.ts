import { expect, test } from "vitest";
import { Evidence } from "../../src/blame/evidence.ts";
import { RecordingReader } from "../../src/blame/recording-reader.ts";
import { TestServer } from "../../src/kube/reflector/reflector-servers.contract.ts";
import { MemoryStorage } from "../../src/lab/apiserver/storage/memory-storage.ts";
import { ClusterRecorder } from "../../src/recording/cluster-recorder.ts";
import {
  parseRecordingLine,
  type RecordingLine,
  runLine,
} from "../../src/recording/recording-line.ts";
import { simulate } from "../../src/simulation/simulation.ts";

const pods = "/api/v1/namespaces/default/pods";

/** Watches that fail again and again lead to another list within this time. */
const untilListedAgainMs = 120_000;

test("what a second list shows before any watch was open happened since the first", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const api = simulation.host("api");
    const server = new TestServer({
      simulation,
      storage: new MemoryStorage(api),
      name: "api",
      clientNames: ["recorder"],
      expiredWatchAnswer: "event",
    });
    await server.start();
    const match = { user: "recorder", verbs: ["watch"] } as const;
    server.addRule({ match, errors: { rate: 1, code: 500 } });
    const client = server.client("recorder", "recorder");
    const lines: RecordingLine[] = [];
    const recorder = new ClusterRecorder({
      ...simulation.host("recorder"),
      client,
      cluster: "prod",
      form: "endpointslices",
      namespaces: undefined,
      write: (text) => {
        const line = parseRecordingLine(text);
        if (line !== undefined) lines.push(line);
      },
    });
    recorder.start();
    const ofPods = (line: RecordingLine) => "kind" in line && line.kind === "Pod";
    while (!lines.some(ofPods)) await simulation.sleep(100);
    await simulation.sleep(1_000);
    const createdMs = api.clock.wallMs();
    const body = { metadata: { name: "late" }, spec: { containers: [{ name: "c", image: "c" }] } };
    await client.request({ verb: "create", method: "POST", path: pods, body });
    await simulation.sleep(untilListedAgainMs);
    await recorder.stop();
    await server.goDown("stop");
    const [listed, added] = lines.filter(ofPods);
    expect(listed).toMatchObject({ type: "listed" });
    expect(added).toMatchObject({ type: "change", change: "added", by: "list" });
    const { atMs = 0, afterMs = Infinity } = added?.type === "change" ? added : {};
    expect(atMs).toBeGreaterThan(createdMs);
    expect(afterMs).toBeLessThan(createdMs);
  }));

/** How many of them the lines show, and how many of those as living. */
function podsIn(lines: readonly string[]) {
  const evidence = new Evidence();
  const reader = new RecordingReader(evidence);
  for (const line of lines) reader.read(line);
  const { coverage, lives } = evidence;
  const known = lives.selected({ cluster: "prod", namespace: "default" }, {});
  return {
    known: known.length,
    living: known.filter(({ isGone }) => !isGone).length,
    isCovered: coverage.length > 0,
  };
}

test("a file that begins in the middle of a list has all that was listed", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const api = simulation.host("api");
    const server = new TestServer({
      simulation,
      storage: new MemoryStorage(api),
      name: "api",
      clientNames: ["recorder"],
      expiredWatchAnswer: "event",
    });
    await server.start();
    const client = server.client("recorder", "recorder");
    const spec = { containers: [{ name: "c", image: "c" }] };
    const count = 20;
    for (let index = 0; index < count; index += 1) {
      const body = { metadata: { name: `web-${index}` }, spec };
      await client.request({ verb: "create", method: "POST", path: pods, body });
    }
    const before = [runLine({ atMs: api.clock.wallMs(), run: "before" })];
    let newest: string[] | undefined;
    const recorder = new ClusterRecorder({
      ...simulation.host("recorder"),
      client,
      cluster: "prod",
      form: "endpointslices",
      namespaces: undefined,
      write: (line) => {
        (newest ?? before).push(line);
        if (newest !== undefined || before.filter(isPod).length < count / 2) return;
        const run = runLine({ atMs: api.clock.wallMs(), run: "newest" });
        newest = [run, ...recorder.baseline()];
      },
    });
    recorder.start();
    while (!recorder.watches().every(({ isListed }) => isListed)) await simulation.sleep(100);
    await recorder.stop();
    await server.goDown("stop");
    const all = { known: count, living: count, isCovered: true };
    expect(podsIn(newest ?? [])).toEqual(all);
    expect(podsIn([...before, ...(newest ?? [])])).toEqual(all);
  }));

function isPod(text: string): boolean {
  const line = parseRecordingLine(text);
  return line?.type === "change" && line.kind === "Pod";
}
