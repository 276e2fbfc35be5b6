import { expect, test } from "vitest";
import { MemoryStorage } from "../../src/apiserver/storage/memory-storage.ts";
import { Evidence } from "../../src/blame/evidence.ts";
import { RecordingReader } from "../../src/blame/recording-reader.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { Observer } from "../../src/observe/observer.ts";
import { ObserverTape } from "../../src/recording/observer-tape.ts";
import {
  parseRecordingLine,
  type RecordingLine,
  runLine,
} from "../../src/recording/recording-line.ts";
import { type Simulation, simulate } from "../../src/simulation/simulation.ts";
import { TestServer } from "../reflector/reflector-servers.ts";

const pods = "/api/v1/namespaces/default/pods";

/** An observer of `prod` of which only the tape matters. */
function taped(simulation: Simulation, client: KubeClient, write: (line: string) => void) {
  const environment = simulation.host("recorder");
  const tape = new ObserverTape({ ...environment, write });
  const observer = new Observer({
    ...environment,
    clusters: [{ cluster: "prod", client, form: "endpointslices" }],
    accessClusters: [],
    tap: tape,
    tapOnly: true,
    onEvent: () => undefined,
  });
  return { tape, observer };
}

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
    const { observer } = taped(simulation, client, (text) => {
      const line = parseRecordingLine(text);
      if (line !== undefined) lines.push(line);
    });
    observer.start();
    const ofPods = (line: RecordingLine) => "kind" in line && line.kind === "Pod";
    while (!lines.some(ofPods)) await simulation.sleep(100);
    await simulation.sleep(1_000);
    const createdMs = api.clock.wallMs();
    const body = { metadata: { name: "late" }, spec: { containers: [{ name: "c", image: "c" }] } };
    await client.request({ verb: "create", method: "POST", path: pods, body });
    await simulation.sleep(untilListedAgainMs);
    await observer.stop();
    await server.goDown("stop");
    const [listed, added] = lines.filter(ofPods);
    expect(listed).toMatchObject({ type: "listed" });
    expect(added).toMatchObject({ type: "change", change: "added", by: "list" });
    const { atMs = 0, afterMs = Infinity } = added?.type === "change" ? added : {};
    expect(atMs).toBeGreaterThan(createdMs);
    expect(afterMs).toBeLessThan(createdMs);
  }));

test("pods are recorded while the list of services fails", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const server = new TestServer({
      simulation,
      storage: new MemoryStorage(simulation.host("api")),
      name: "api",
      clientNames: ["recorder"],
      expiredWatchAnswer: "event",
    });
    await server.start();
    const match = { user: "recorder", verbs: ["list"], resource: "services" } as const;
    server.addRule({ match, errors: { rate: 1, code: 500 } });
    const client = server.client("recorder", "recorder");
    const listed: string[] = [];
    const { observer } = taped(simulation, client, (text) => {
      const line = parseRecordingLine(text);
      if (line?.type === "listed") listed.push(line.kind);
    });
    observer.start();
    await simulation.sleep(15_000);
    await observer.stop();
    await server.goDown("stop");
    expect(listed.sort()).toEqual(["EndpointSlice", "Node", "Pod"]);
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
    const { observer, tape } = taped(simulation, client, (line) => {
      (newest ?? before).push(line);
      if (newest !== undefined || before.filter(isPod).length < count / 2) return;
      const run = runLine({ atMs: api.clock.wallMs(), run: "newest" });
      newest = [run, ...tape.baseline()];
    });
    observer.start();
    await observer.waitForSync();
    await observer.stop();
    await server.goDown("stop");
    const all = { known: count, living: count, isCovered: true };
    expect(podsIn(newest ?? [])).toEqual(all);
    expect(podsIn([...before, ...(newest ?? [])])).toEqual(all);
  }));

function isPod(text: string): boolean {
  const line = parseRecordingLine(text);
  return line?.type === "change" && line.kind === "Pod";
}
