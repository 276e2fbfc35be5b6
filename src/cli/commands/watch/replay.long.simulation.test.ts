import { expect, test } from "vitest";
import { kubeconfig, lockstepWatch, startShop } from "../../../../tests/cli/watch-command.ts";
import { inObserverWorld, type ObserverWorld } from "../../../../tests/observer/observer-world.ts";
import { RecordedTerminal } from "../../../../tests/terminal/recorded-terminal.ts";
import { randomBetween, randomInt } from "../../../environment/random.ts";
import { applyFaultPlan, randomFaultPlan } from "../../../simulation/faults.ts";
import { forEachSeed } from "../../../simulation/seeds.ts";
import { UsageError } from "../../command.ts";
import { runProgram } from "../../program.ts";

const path = "/seen.jsonl";

/** One pod comes and is published late, one goes and never is. */
async function changePods(world: ObserverWorld): Promise<void> {
  const { timers } = world.simulation.host("admin");
  await timers.sleep(5_000);
  await world.addPod("lab-1", "web-2", "10.0.0.2");
  await timers.sleep(3_000);
  await world.publish("lab-1", "web", ["10.0.0.1", "10.0.0.2"]);
  await timers.sleep(1_000);
  await world.removePod("lab-1", "web-1");
  await timers.sleep(40_000);
}

interface ReplayOptions {
  readonly screen?: { readonly columns: number; readonly rows: number };
  /** Called with what presses a key. */
  readonly press?: (key: (key: string) => void) => Promise<void>;
  readonly stop?: AbortSignal;
}

/** `lockstep watch --replay`, without any cluster. */
async function replay(
  world: ObserverWorld,
  args: readonly string[] = [],
  { screen, press, stop = new AbortController().signal }: ReplayOptions = {},
) {
  const environment = world.simulation.host("lockstep");
  const terminal = new RecordedTerminal(screen);
  const line = ["watch", "--replay", path, "--utc", ...args];
  let pressed: (key: string) => void = () => undefined;
  const keys = (listener: (key: string) => void) => {
    pressed = listener;
    return () => undefined;
  };
  const running = runProgram({ environment, terminal, stop, keys }, "0.0.0", line);
  await Promise.all([running, press?.((key) => pressed(key))]);
  return { code: await running, out: terminal.out, errors: terminal.error };
}

/** The text after the first empty line; before it is the source of the replay. */
function afterStart(text: string): string {
  return text.slice(text.indexOf("\n\n") + 2);
}

async function expectSame(
  world: ObserverWorld,
  args: readonly string[],
  asked: readonly string[],
  meanwhile: (world: ObserverWorld) => Promise<void>,
): Promise<string> {
  const recorded = ["--record", path, ...args, ...asked];
  const seen = await lockstepWatch(world, { args: recorded, meanwhile });
  const again = await replay(world, args);
  expect(again.out).toBe(seen.out);
  expect(afterStart(again.errors)).toBe(afterStart(seen.errors));
  expect(again.code).toBe(seen.code);
  return seen.out;
}

test.each([[[]], [["--json"]]])("a replay %j shows what the run showed", (args) =>
  inObserverWorld(async (world) => {
    await startShop(world, "lab-1");
    const out = await expectSame(world, args, [], changePods);
    expect(out).toContain("10.0.0.2");
  }),
);

/** A replica of ingress-nginx that routes some time after the publication. */
async function startProxy({ simulation }: ObserverWorld) {
  const { network } = simulation.host("proxy");
  const routed = { addresses: ["10.0.0.1"] };
  await network.listen({ host: "proxy", port: 10246 }, (exchange) => {
    const endpoints = routed.addresses.map((address) => ({ address, port: "8080" }));
    const answer = JSON.stringify([{ name: "shop-web-80", port: 80, endpoints }]);
    exchange.respond(200).end(Buffer.from(answer));
  });
  return routed;
}

const troubleMs = 120_000;

forEachSeed(
  "a replay is the run again, with watches that are cut off, replicas and an access log",
  { seeds: 10 },
  (seed) =>
    inObserverWorld(async (world) => {
      const { simulation } = world;
      const { random } = simulation;
      const { files, clock } = simulation.host("lockstep");
      await startShop(world, "lab-1");
      const routed = await startProxy(world);
      await files.write("/access.log", "");
      const proxy = ["--proxy", "ingress-nginx=http://proxy:10246"];
      const out = await expectSame(
        world,
        seed % 2 === 0 ? ["--json"] : [],
        [...proxy, "--access-log", "/access.log"],
        async () => {
          await simulation.sleep(20_000);
          const kinds = ["latency", "reset", "partition", "one-way", "stall"] as const;
          const hosts = ["lockstep", "lab-1"];
          applyFaultPlan(
            simulation,
            randomFaultPlan(random, { hosts, quietAfterMs: troubleMs, kinds }),
          );
          const quietAt = simulation.now() + troubleMs;
          let living = [1];
          for (let next = 2; simulation.now() < quietAt; next += 1) {
            await simulation.sleep(randomBetween(random, 0, 8_000));
            await world.addPod("lab-1", `web-${next}`, `10.0.0.${next}`);
            const victim = living[randomInt(random, living.length)];
            if (victim !== undefined) await world.removePod("lab-1", `web-${victim}`);
            living = [...living.filter((one) => one !== victim), next];
            await simulation.sleep(randomBetween(random, 0, 3_000));
            const addresses = living.map((one) => `10.0.0.${one}`);
            await world.publish("lab-1", "web", addresses);
            if (randomInt(random, 3) > 0) routed.addresses = addresses;
            const upstream = `10.0.0.${next}:8080`;
            const request = { service: "shop/web:80", upstream_addr: upstream, status: 200 };
            const entry = JSON.stringify({ msec: clock.wallMs() / 1_000, ...request });
            await files.append("/access.log", `${entry}\n`);
          }
          await simulation.sleep(90_000);
        },
      );
      expect(out.split("\n").length).toBeGreaterThan(10);
    }, seed),
);

/** Makes the recording grow past half of 1 MB, so that a second file begins. */
async function changeLabels(world: ObserverWorld): Promise<void> {
  const value = "x".repeat(60);
  for (let version = 0; version < 130; version += 1) {
    const labels = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [`label-${index}`, `${value}${version % 10}`]),
    );
    const service = "/api/v1/namespaces/shop/services/web";
    await world.call("lab-1", "PATCH", service, { metadata: { labels } });
    await world.simulation.sleep(500);
  }
}

test("a recording in two files is one run, and the second file alone is enough", () =>
  inObserverWorld(async (world) => {
    const { files } = world.simulation.host("lockstep");
    await startShop(world, "lab-1");
    await expectSame(world, [], ["--max-size", "1M"], async () => {
      await changeLabels(world);
      await changePods(world);
    });
    expect(await files.kind(`${path}.1`)).toBe("file");
    await files.remove(`${path}.1`);
    const { code, out } = await replay(world);
    expect(code).toBe(0);
    expect(out).toMatch(/\+10\.0\.0\.2 shop\/web {2}pod 0 · published 3 s/);
  }));

test("a file that ends in the middle of a line, or has lines of rubbish, is replayed without them", () =>
  inObserverWorld(async (world) => {
    const { files } = world.simulation.host("lockstep");
    await startShop(world, "lab-1");
    const seen = await lockstepWatch(world, { args: ["--record", path], meanwhile: changePods });
    const text = Buffer.from((await files.read(path)) ?? "").toString("utf8");
    const lines = text.split("\n");
    const middle = Math.floor(lines.length / 2);
    const rubbish = ["{", '{"t":1,"input":{"type":"routed"}}', '{"t":4,"input":7}', "\u0000"];
    const broken = [...lines.slice(0, middle), ...rubbish, ...lines.slice(middle)];
    await files.write(path, broken.join("\n").slice(0, -30));
    const { code, out, errors } = await replay(world);
    expect(code).toBe(0);
    expect(out).toBe(seen.out);
    expect(errors).toContain("lines skipped: cannot be read.");
  }));

/** Starts a command on its own machine, without jitter of waits. Returns a function to end it. */
async function begin(world: ObserverWorld, host: string, command: readonly string[]) {
  const own = world.simulation.host(host);
  const random = { next: () => 0.5, uuid: () => own.random.uuid() };
  await own.files.write("/kubeconfig", kubeconfig);
  const terminal = new RecordedTerminal();
  const stop = new AbortController();
  const line = [...command, "--kubeconfig", "/kubeconfig"];
  const context = { environment: { ...own, random }, terminal, stop: stop.signal };
  const running = runProgram(context, "0.0.0", line);
  return async () => {
    stop.abort(new Error("stopped by the test"));
    expect(await running).toBe(0);
    return terminal.out;
  };
}

/** Every step of every journey, with its times; the runs have names of their own. */
function stepsOf(out: string): readonly unknown[] {
  const lines = out.trim().split("\n");
  const steps = lines.map((line): { readonly type: string } => JSON.parse(line));
  return steps
    .filter(({ type }) => ["shown", "stuck", "over"].includes(type))
    .map((step) => JSON.stringify(step).replaceAll(/"id":"[^"]*-(\d+)"/g, '"id":$1'));
}

test("a replay of `lockstep record` shows the journeys that an observer saw, with the same times", () =>
  inObserverWorld(async (world) => {
    const { simulation } = world;
    const { network } = simulation;
    const hosts = ["watch", "record"] as const;
    await startShop(world, "lab-1");
    // Both are equally far away, so that both receive changes at the same moments.
    for (const host of hosts) network.setLatency(host, "lab-1", () => 0.375);
    const endWatch = await begin(world, "watch", ["watch", "--json"]);
    const endRecord = await begin(world, "record", ["record", "--out", path]);
    await changePods(world);
    for (const host of hosts) network.partition(host, "lab-1");
    await simulation.sleep(20_000);
    await world.addPod("lab-1", "web-3", "10.0.0.3");
    await world.publish("lab-1", "web", ["10.0.0.2", "10.0.0.3"]);
    await simulation.sleep(20_000);
    for (const host of hosts) network.heal(host, "lab-1");
    await simulation.sleep(60_000);
    const seen = await endWatch();
    await endRecord();
    const recorded = await simulation.host("record").files.read(path);
    await simulation.host("lockstep").files.write(path, recorded ?? "");
    const again = await replay(world, ["--json"]);
    expect(stepsOf(seen).length).toBeGreaterThan(3);
    expect(stepsOf(again.out)).toEqual(stepsOf(seen));
  }));

test("nodes that were recorded beside a namespace tell causes again, after a run of version 1", () =>
  inObserverWorld(async (world) => {
    const { simulation } = world;
    const { files } = simulation.host("lockstep");
    await files.write(path, `${versionOne.map((line) => JSON.stringify(line)).join("\n")}\n`);
    await startShop(world, "lab-1");
    await world.call("lab-1", "POST", "/api/v1/nodes", { metadata: { name: "n" } });
    const end = await begin(world, "lockstep", ["record", "--namespace", "shop", "--out", path]);
    await simulation.sleep(5_000);
    await world.call("lab-1", "DELETE", "/api/v1/nodes/n");
    await simulation.sleep(1_000);
    const status = { conditions: [{ type: "Ready", status: "False" }] };
    await world.call("lab-1", "PATCH", "/api/v1/namespaces/shop/pods/web-1/status", { status });
    await simulation.sleep(5_000);
    await world.publish("lab-1", "web", []);
    await simulation.sleep(5_000);
    await end();
    const { code, out, errors } = await replay(world);
    expect(code).toBe(0);
    expect(out).toMatch(/^.* prod ready \+10\.0\.0\.2 .*\n.* lab-1 node gone −10\.0\.0\.1 .*\n$/);
    expect(errors).toContain(`Replay of ${path}, run 2, recorded since`);
  }));

test("a recording of an older `lockstep record`, or of version 1, is looked at every second", () =>
  inObserverWorld(async (world) => {
    const { files } = world.simulation.host("lockstep");
    await files.write(path, `${versionOne.map((line) => JSON.stringify(line)).join("\n")}\n`);
    const { code, out, errors } = await replay(world);
    expect(code).toBe(0);
    expect(out).toMatchInlineSnapshot(`
      "2026-01-01T00:00:12.000Z prod ready +10.0.0.2 shop/web  pod 0 · published 3 s · routed ? · slow
      "
    `);
    expect(errors).toMatchInlineSnapshot(`
      "Replay of /seen.jsonl, recorded since 2026-01-01T00:00:00.000Z.

      prod: listing, 0 of 4 done
      prod: watching
      Observed for 20 s.
      1 change, 1 complete, 1 slow (2 s or more), 0 in flight.

                   removal                           addition
      hop           p50     p99     max    oldest     p50     p99     max    oldest
      pod             –       –       –         –       0     n=1       0         –
      published       –       –       –         –    ▲3 s     n=1    ▲3 s         –
      synced      ? no copies of endpoints found in prod
      routed      ? no proxy given: use --proxy URL
      traffic     ? no access log given: use --access-log FILE

      Slowest
      time     endpoint         service              cause       published    routed
      00:00:12 +10.0.0.2        shop/web             ready            ▲3 s         ?
      "
    `);
  }));

const at = (seconds: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)).toISOString();
const meta = (name: string) => ({ namespace: "shop", name, uid: `uid-${name}` });
const ready = { conditions: [{ type: "Ready", status: "True" }], phase: "Running" };
const onePod = (name: string, podIP: string) => ({
  metadata: { ...meta(name), labels: { app: "web" } },
  spec: { nodeName: "n", containers: [{ name: "c" }] },
  status: { ...ready, podIP, podIPs: [{ ip: podIP }], containerStatuses: [] },
});
const oneSlice = (...addresses: readonly string[]) => ({
  metadata: { ...meta("web-1"), labels: { "kubernetes.io/service-name": "web" } },
  endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
  ports: [{ port: 8080 }],
});
const in1 = { cluster: "prod" };
const listedOne = { ...in1, change: "added", by: "list" };

/** As the first version wrote it. */
const versionOne = [
  { kind: "lockstep-recording", version: 1, at: at(0), run: "one" },
  {
    at: at(1),
    ...listedOne,
    kind: "Service",
    object: { metadata: meta("web"), spec: { type: "ClusterIP", selector: { app: "web" } } },
  },
  { at: at(1), ...in1, listed: "Service" },
  { at: at(1), ...listedOne, kind: "EndpointSlice", object: oneSlice("10.0.0.1") },
  { at: at(1), ...in1, listed: "EndpointSlice" },
  { at: at(1), ...in1, listed: "Node" },
  { at: at(2), ...listedOne, kind: "Pod", object: onePod("web-1", "10.0.0.1") },
  { at: at(2), ...in1, listed: "Pod" },
  { at: at(10), alive: true },
  {
    at: at(12),
    ...in1,
    kind: "Pod",
    change: "added",
    by: "watch",
    object: onePod("web-2", "10.0.0.2"),
  },
  {
    at: at(15),
    ...in1,
    kind: "EndpointSlice",
    change: "updated",
    by: "watch",
    object: oneSlice("10.0.0.1", "10.0.0.2"),
  },
  { at: at(20), alive: true },
];

test("a later version, a file that is no recording and flags of a cluster are refused", () =>
  inObserverWorld(async (world) => {
    const { files } = world.simulation.host("lockstep");
    await expect(replay(world)).rejects.toThrow(`recording ${path} does not exist`);
    await files.write(path, "hello\n");
    await expect(replay(world)).rejects.toThrow(`${path} is not a recording`);
    const later = { kind: "lockstep-recording", version: 3, at: at(0), run: "one" };
    await files.write(path, `${JSON.stringify(later)}\n`);
    await expect(replay(world)).rejects.toThrow("it has version 3");
    await expect(replay(world, ["--context", "lab-1"])).rejects.toBeInstanceOf(UsageError);
  }));

test("on a screen it pauses, steps and changes its speed", () =>
  inObserverWorld(async (world) => {
    await startShop(world, "lab-1");
    await lockstepWatch(world, { args: ["--record", path], meanwhile: changePods });
    const { simulation } = world;
    const began = simulation.now();
    const screen = { columns: 80, rows: 24 };
    const { out } = await replay(world, ["--speed", "2"], {
      screen,
      press: async (key) => {
        await simulation.sleep(1_000);
        key(" ");
        await simulation.sleep(60_000);
        key("s");
        await simulation.sleep(1_000);
        key("+");
        key(" ");
      },
    });
    // 49 s at twice the speed and more, and a pause of a minute.
    expect(simulation.now() - began).toBeGreaterThan(70_000);
    expect(simulation.now() - began).toBeLessThan(80_000);
    expect(out).toContain("lockstep watch --replay · paused");
    expect(out).toContain("lockstep watch --replay · 4×");
    expect(out).toContain("Observed for 49 s.");
  }));

test("an anonymised recording has none of the names and addresses, and shows the same", () =>
  inObserverWorld(async (world) => {
    const { files } = world.simulation.host("lockstep");
    await startShop(world, "lab-1");
    const seen = await lockstepWatch(world, { args: ["--record", path], meanwhile: changePods });
    const plain = Buffer.from((await files.read(path)) ?? "").toString("utf8");
    const uids = plain.match(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g) ?? [];
    const [run] = uids;
    await files.rename(path, "/plain.jsonl");
    const environment = world.simulation.host("lockstep");
    const terminal = new RecordedTerminal();
    const line = ["record", "--anonymize-file", "/plain.jsonl", "--out", path];
    const stop = new AbortController().signal;
    expect(await runProgram({ environment, terminal, stop }, "0.0.0", line)).toBe(0);
    const text = Buffer.from((await files.read(path)) ?? "").toString("utf8");
    const names = ["lab-1", "shop", "web", "web-1", "10.0.0.1", "10.0.0.2", "app"];
    for (const name of [...names, ...uids.filter((uid) => uid !== run)]) {
      expect(text).not.toMatch(new RegExp(`[^-\\w.]${name.replaceAll(".", "\\.")}[^-\\w.]`));
    }
    const again = await replay(world);
    const shape = (lines: string) =>
      lines.replaceAll(
        /(?<= )(?:n[\da-f]{10}|lab-1|shop)(?:\/(?:n[\da-f]{10}|web))?|[\d.]{7,}(?= )/g,
        "X",
      );
    expect(shape(again.out)).toBe(shape(seen.out));
    expect(again.out).not.toBe(seen.out);
  }));
