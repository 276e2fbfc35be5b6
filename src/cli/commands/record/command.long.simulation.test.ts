import { expect, test } from "vitest";
import { inObserverWorld, type ObserverWorld } from "../../../../tests/observer/observer-world.ts";
import { RecordedTerminal } from "../../../../tests/terminal/recorded-terminal.ts";
import { Evidence } from "../../../blame/evidence.ts";
import { RecordingReader } from "../../../blame/recording-reader.ts";
import { quorumReadEveryMs } from "../../../kube/reflector/reflector-prover.ts";
import { readRecording } from "../../../recording/recording-file.ts";
import { parseRecordingLine } from "../../../recording/recording-line.ts";
import { runProgram } from "../../program.ts";

const kubeconfig = JSON.stringify({
  apiVersion: "v1",
  kind: "Config",
  "current-context": "lab-1",
  clusters: ["lab-1", "dead"].map((name) => ({
    name,
    cluster: { server: `https://${name}:6443` },
  })),
  contexts: [
    { name: "lab-1", context: { cluster: "lab-1", user: "admin" } },
    { name: "lab-1-reader", context: { cluster: "lab-1", user: "reader" } },
    { name: "dead", context: { cluster: "dead", user: "admin" } },
  ],
  users: ["admin", "reader"].map((name) => ({ name, user: { token: name } })),
});

/** Runs `lockstep record` for so long. Gives its exit code, its messages and the kinds recorded. */
async function lockstepRecord(world: ObserverWorld, forMs: number, ...args: readonly string[]) {
  const environment = world.simulation.host("lockstep");
  const { files, timers } = environment;
  await files.write("/kubeconfig", kubeconfig);
  const terminal = new RecordedTerminal();
  const stop = new AbortController();
  const line = ["record", "--kubeconfig", "/kubeconfig", "--out", "/pods.jsonl", ...args];
  const running = runProgram({ environment, terminal, stop: stop.signal }, "0.0.0", line);
  await Promise.race([running, timers.sleep(forMs)]);
  stop.abort(new Error("stopped by the test"));
  const code = await running;
  const kinds = Buffer.from((await files.read("/pods.jsonl")) ?? [])
    .toString()
    .matchAll(/"kind":"(\w+)"/g);
  const recorded = [...new Set([...kinds].map(([, kind]) => kind))];
  return { code, told: terminal.error, recorded };
}

async function startShop(world: ObserverWorld, { hasRules = false } = {}): Promise<void> {
  await world.startCluster("lab-1", { hasRules });
  await world.addService("lab-1", "web");
  await world.addPod("lab-1", "web-1", "10.0.0.1");
  await world.publish("lab-1", "web", ["10.0.0.1"]);
}

test("before it starts it says what it will list, and then it records", () =>
  inObserverWorld(async (world) => {
    await startShop(world);
    const { code, told, recorded } = await lockstepRecord(world, 5_000);
    expect(code).toBe(0);
    expect(new Set(recorded)).toEqual(new Set(["EndpointSlice", "Pod", "Service"]));
    expect(told).toMatchInlineSnapshot(`
      "● lab-1: will list 1 service, 1 pod, 1 endpointslice, 0 nodes; about 2.3 kB in 4
        requests. Then keeps 4 watches open and sends 12 requests a minute to check
        that they are up to date.
        Lockstep only reads. It also works on managed clusters (EKS, GKE, AKS).

      Recording lab-1 to /pods.jsonl. Ctrl-C stops it.
      Stopped; everything was written.
      "
    `);
  }));

test("missing permissions are named before the start, with their effect on blame", () =>
  inObserverWorld(async (world) => {
    await startShop(world, { hasRules: true });
    const { code, told } = await lockstepRecord(world, 5_000, "--context", "lab-1-reader");
    expect(code).toBe(1);
    expect(told).toMatchInlineSnapshot(`
      "✗ lab-1-reader: no permission to read anything
      ! Missing permission: list/watch services in lab-1-reader. Effect: blame cannot
        explain a 503 for which no endpoint was tried
      ! Missing permission: list/watch pods in lab-1-reader. Effect: blame cannot
        match an address to a pod
      ! Missing permission: list/watch endpointslices in lab-1-reader. Effect: blame
        cannot name the late hop
      ! Missing permission: list/watch nodes in lab-1-reader. Effect: pods on a lost
        node are treated as healthy
        The role in deploy/rbac/observer.yaml has all permissions. With --namespace it
        is needed only in those namespaces.
        Lockstep only reads. It also works on managed clusters (EKS, GKE, AKS).

      Recording lab-1-reader to /pods.jsonl. Ctrl-C stops it.
      Stopped. Nothing was recorded: no cluster could be read.
      "
    `);
  }));

test("Endpoints are recorded where only they may be read", () =>
  inObserverWorld(async (world) => {
    await startShop(world, { hasRules: true });
    await world.allow("lab-1", ["services", "pods", "nodes", "endpoints"]);
    await world.call("lab-1", "POST", "/api/v1/namespaces/shop/endpoints", {
      metadata: { name: "web" },
      subsets: [{ addresses: [{ ip: "10.0.0.1" }], ports: [{ port: 8080 }] }],
    });
    const { told, recorded } = await lockstepRecord(world, 5_000, "--context", "lab-1-reader");
    expect(new Set(recorded)).toEqual(new Set(["Endpoints", "Pod", "Service"]));
    expect(told).toContain("will list 1 service, 1 pod, 1 endpoint, 0 nodes");
    expect(told).not.toContain("late hop");
  }));

test("pods are recorded where services may not be read", () =>
  inObserverWorld(async (world) => {
    await startShop(world, { hasRules: true });
    await world.allow("lab-1", ["pods", "endpointslices"]);
    const { code, told, recorded } = await lockstepRecord(
      world,
      30_000,
      "--context",
      "lab-1-reader",
    );
    expect(code).toBe(0);
    expect(new Set(recorded)).toEqual(new Set(["EndpointSlice", "Pod"]));
    expect(told).toMatch(/services in lab-1-reader are not listed yet; .*: .*forbidden/);
    expect(told).not.toContain("pods in lab-1-reader are not listed");
  }));

test("a namespace that may not be read holds up no other, and nodes are recorded beside both", () =>
  inObserverWorld(async (world) => {
    await startShop(world, { hasRules: true });
    await world.call("lab-1", "POST", "/api/v1/nodes", { metadata: { name: "n" } });
    await world.allow("lab-1", ["nodes"]);
    const shop = { namespace: "shop" };
    await world.allow("lab-1", ["services", "pods", "endpointslices"], shop);
    const asked = ["--context", "lab-1-reader", "--namespace", "other", "--namespace", "shop"];
    const { code, told, recorded } = await lockstepRecord(world, 30_000, ...asked);
    expect(code).toBe(0);
    expect(new Set(recorded)).toEqual(new Set(["EndpointSlice", "Node", "Pod", "Service"]));
    expect(told).toMatch(/pods in other of lab-1-reader are not listed yet; /);
    expect(told).not.toContain("shop of lab-1-reader yet");
  }));

test("a folder is refused before anything is asked", () =>
  inObserverWorld(async (world) => {
    const recording = lockstepRecord(world, 1_000, "--out", "/tmp");
    await expect(recording).rejects.toThrow("/tmp is not an ordinary file: give another one.");
  }));

test.each([
  ["one cluster", ["--context", "lab-1"]],
  ["several", ["--context", "lab-1", "--context", "lab-1-reader"]],
])("a file that cannot be written is refused before anything is asked of %s", (_, contexts) =>
  inObserverWorld(async (world) => {
    await startShop(world);
    const { simulation } = world;
    // A request that is sent now waits until the end.
    simulation.network.partition("lockstep", "lab-1");
    const startedMs = simulation.now();
    const recording = lockstepRecord(world, 1_000, "--out", "/none/pods.jsonl", ...contexts);
    await expect(recording).rejects.toThrow("cannot write /none/pods.jsonl");
    expect(simulation.now() - startedMs).toBeLessThan(1_000);
  }),
);

test("no file is left behind where nothing could be begun", () =>
  inObserverWorld(async (world) => {
    const { files } = world.simulation.host("lockstep");
    const recording = lockstepRecord(world, 1_000, "--context", "unknown");
    await expect(recording).rejects.toThrow("no context");
    expect(await files.kind("/pods.jsonl")).toBeUndefined();
  }));

test("a cluster that never answers is reported in words, and ends as a failure", () =>
  inObserverWorld(async (world) => {
    const { code, told, recorded } = await lockstepRecord(world, 120_000);
    expect({ code, recorded }).toEqual({ code: 1, recorded: [] });
    expect(told).toMatchInlineSnapshot(`
      "✗ lab-1 does not answer, retrying: lab-1: no such host
        Lockstep only reads. It also works on managed clusters (EKS, GKE, AKS).

      Recording lab-1 to /pods.jsonl. Ctrl-C stops it.
      lab-1 does not answer; recording starts when it answers.
      Stopped. Nothing was recorded: no cluster could be read.
      "
    `);
    const logged = world.simulation.logLines().filter(({ host }) => host === "lockstep");
    expect(logged).toEqual([]);
  }));

test("one of several that never answers is named at the end", () =>
  inObserverWorld(async (world) => {
    await startShop(world);
    const both = ["--context", "lab-1", "--context", "dead"];
    const { code, told } = await lockstepRecord(world, 60_000, ...both);
    expect(code).toBe(0);
    expect(told).toMatch(/dead does not answer; .*\nStopped; everything .* Never read: dead\.\n$/);
  }));

test("a namespace that no cluster has anything in is asked about, once", () =>
  inObserverWorld(async (world) => {
    await startShop(world);
    const asked = ["--namespace", "shop", "--namespace", "shpo"];
    const { code, told } = await lockstepRecord(world, 60_000, ...asked);
    expect(code).toBe(0);
    const questions = told.split("\n").filter((line) => line.includes("Check the name."));
    expect(questions).toEqual([
      "No cluster has a pod or a service in the namespace shpo. Check the name.",
    ]);
  }));

test("a cluster that is lost meanwhile is reported once, and again when it answers", () =>
  inObserverWorld(async (world) => {
    await startShop(world);
    const { simulation } = world;
    const recording = lockstepRecord(world, 200_000);
    await simulation.sleep(40_000);
    simulation.network.partition("lockstep", "lab-1");
    await simulation.sleep(60_000);
    simulation.network.heal("lockstep", "lab-1");
    const { told } = await recording;
    const [, since = ""] = told.split("Ctrl-C stops it.\n");
    expect(since).toMatchInlineSnapshot(`
      "lab-1 may be behind; its changes are recorded with a time interval until it is up to date again: lab-1:6443: the peer stopped acknowledging, or never answered
      lab-1 is up to date again.
      Stopped; everything was written.
      "
    `);
  }));

test("what is asked for first counts among the requests that --max-qps bounds", () =>
  inObserverWorld(async (world) => {
    await startShop(world);
    const early = await lockstepRecord(world, 5_000, "--max-qps", "1");
    expect(early).toEqual({
      code: 1,
      told: "Stopped before anything was recorded.\n",
      recorded: [],
    });
  }));

test("a late change of a pod happened since its own watch was current, whatever others were", () =>
  inObserverWorld(async (world) => {
    await startShop(world);
    const { simulation } = world;
    const recording = lockstepRecord(world, 120_000);
    await simulation.sleep(10_000);
    // The watch of pods is proved current after that; that of services, where nothing happens, is not.
    await world.addPod("lab-1", "web-2", "10.0.0.2");
    await simulation.sleep(40_000);
    simulation.network.partition("lockstep", "lab-1");
    const cutOffMs = simulation.host("lockstep").clock.wallMs();
    await simulation.sleep(20_000);
    await world.removePod("lab-1", "web-2");
    await simulation.sleep(20_000);
    simulation.network.heal("lockstep", "lab-1");
    await recording;
    const { files } = simulation.host("lockstep");
    const lines = Buffer.from((await files.read("/pods.jsonl")) ?? "")
      .toString()
      .split("\n");
    const late = lines.map(parseRecordingLine).filter((line) => line?.type === "change");
    const [removal] = late.filter(({ afterMs }) => afterMs !== undefined);
    expect(removal?.kind).toBe("Pod");
    const sinceMs = cutOffMs - (removal?.afterMs ?? 0);
    expect(sinceMs).toBeGreaterThanOrEqual(0);
    expect(sinceMs).toBeLessThan(quorumReadEveryMs + 5_000);
  }));

test("what a watch tells that was cut off happened at some time since it was not", () =>
  inObserverWorld(async (world) => {
    await startShop(world);
    const { simulation } = world;
    const recorded = lockstepRecord(world, 120_000);
    await simulation.sleep(40_000);
    simulation.network.partition("lockstep", "lab-1");
    await simulation.sleep(20_000);
    await world.publish("lab-1", "web", []);
    const changedMs = simulation.host("lab-1").clock.wallMs();
    await simulation.sleep(20_000);
    simulation.network.heal("lockstep", "lab-1");
    await recorded;
    const evidence = new Evidence();
    const { files } = simulation.host("lockstep");
    await readRecording(files, "/pods.jsonl", new RecordingReader(evidence));
    const [listing] = evidence.publications.ofAddress("10.0.0.1");
    const { fromMs, toMs } = listing?.until ?? { fromMs: 0, toMs: 0 };
    // The cluster was cut off 20 s before the change and reached again 20 s after it.
    expect(changedMs - fromMs).toBeGreaterThanOrEqual(20_000);
    expect(toMs - changedMs).toBeGreaterThanOrEqual(20_000);
  }));
