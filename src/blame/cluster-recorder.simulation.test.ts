import { expect, test } from "vitest";
import { TestServer } from "../kube/reflector/reflector-servers.contract.ts";
import { MemoryStorage } from "../lab/apiserver/storage/memory-storage.ts";
import { simulate } from "../simulation/simulation.ts";
import { ClusterRecorder } from "./cluster-recorder.ts";
import { parseRecordingLine, type RecordingLine } from "./recording-line.ts";

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
