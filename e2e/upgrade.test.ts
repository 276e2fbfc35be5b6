// An upgrade of two replicas as a Deployment does it, and a rollback, under load: a new replica is ready
// before an old one is asked to end, and a balancer lists the replicas whose /readyz says so. No request
// is lost, also when processes are killed in the middle; with a whole replica, only what it held. A GET is
// repeated when a reused connection is closed, which would hide a loss, so it is a POST that must not be lost.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { MonotonicMs } from "../src/environment/clock.ts";
import type { EntryReplica } from "../src/lab/traffic/entry.ts";
import { CountedTraffic, expectedFrom } from "./counted-traffic.ts";
import { IngressProcess } from "./ingress-process.ts";
import { withoutNginx } from "./proxy-world.ts";
import { ShopsWorld } from "./shops-world.ts";

const requestsPerSecond = 60;

/** Hosts and replicas are taken in turn: with an even number a host would always meet the same. */
const shops = 3;

/** Long enough that a replica has requests in its hands when it is asked to end. */
const annotations = { "lab.lockstep.dev/response-time": "100ms" };

/** The versions differ in something that needs another nginx. */
const versions = { old: ["--workers", "1"], new: ["--workers", "2"] } as const;

/** The balancer below looks much more often. */
const drain = ["--drain-delay", "3s"];
const lookEveryMs = 20;

describe.skipIf(withoutNginx !== false)("two replicas under load", () => {
  let world: ShopsWorld;
  const ready = new Set<string>();
  let looking: Promise<void> = Promise.resolve();
  const stop = new AbortController();
  const replicas = new Map<string, IngressProcess>();

  beforeAll(async () => {
    world = await ShopsWorld.start({ shops, replicas: 2, annotations: () => annotations });
    for (const version of ["old", "new"] as const) {
      for (const number of [1, 2]) {
        const name = `${version}-${number}`;
        const flags = [...versions[version], ...drain];
        replicas.set(name, await IngressProcess.start(world, name, flags));
      }
    }
    for (const name of ["new-1", "new-2"]) await replica(name).terminate();
    looking = look();
  });
  afterAll(async () => {
    stop.abort(new Error("the test is over"));
    await looking;
    await world?.stop();
  });

  it("are upgraded, and no request is lost", async () => {
    const traffic = await startTraffic("POST", "old-1", "old-2");
    const draining: Promise<unknown>[] = [];
    for (const number of [1, 2]) {
      await replica(`new-${number}`).start();
      await isListed(`new-${number}`);
      draining.push(replica(`old-${number}`).terminate());
    }
    expect(await Promise.all(draining)).toEqual([0, 0]);
    await expectServed(traffic, "new-1", "new-2");
    await finish(traffic);
  });

  it("are rolled back though Lockstep is killed in the middle, and no request is lost", async () => {
    const traffic = await startTraffic("POST", "new-1", "new-2");
    await replica("old-1").start();
    await isListed("old-1");
    const first = replica("new-1").terminate();
    await replica("new-2").kill();
    await world.until("the killed one is not listed", () => !ready.has("new-2"));
    expect(await first).toBe(0);
    // As the kubelet does; nginx served on without it.
    await replica("new-2").start();
    await replica("old-2").start();
    await isListed("old-2");
    expect(await replica("new-2").terminate()).toBe(0);
    await expectServed(traffic, "old-1", "old-2");
    await finish(traffic);
  });

  it("lose only what a replica held that is killed with its nginx in the middle of an upgrade", async () => {
    const traffic = await startTraffic("GET", "old-1", "old-2");
    await replica("new-1").start();
    await isListed("new-1");
    const goneAt = await killAll("old-1");
    // The next one is killed before it serves, and started again.
    await replica("new-2").run();
    await replica("new-2").kill();
    await replica("new-2").start();
    await isListed("new-2");
    expect(await replica("old-2").terminate()).toBe(0);
    await expectServed(traffic, "new-1", "new-2");
    await traffic.finish();
    expect(traffic.results.length).toBe(traffic.sent);
    const lost = traffic.lost();
    expect(lost.filter(({ sentAt }) => sentAt > goneAt)).toEqual([]);
    const { unserved, replicas: counts } = traffic.entryCounts;
    const others = counts.filter(({ name }) => name !== "old-1");
    expect([unserved, ...others.map(({ broken }) => broken)]).toEqual([0, 0, 0, 0]);
  });

  /** As the kubelet and the endpoint controller: ready ones are listed. */
  async function look(): Promise<void> {
    while (!stop.signal.aborted) {
      for (const [name, one] of replicas) {
        const answer = await one.ask("/readyz").catch(() => "");
        if (answer.startsWith("ok")) ready.add(name);
        else ready.delete(name);
      }
      await world.environment.timers.sleep(lookEveryMs);
    }
  }

  function replica(name: string): IngressProcess {
    const found = replicas.get(name);
    if (found === undefined) throw new Error(`there is no replica ${name}`);
    return found;
  }

  async function isListed(name: string): Promise<void> {
    await world.until(`${name} is listed`, () => ready.has(name));
  }

  /** Resolves when these serve. */
  async function startTraffic(
    method: "GET" | "POST",
    ...serving: readonly string[]
  ): Promise<CountedTraffic> {
    for (const name of serving) await isListed(name);
    const listed = [...replicas].map(
      ([name, { address }]): EntryReplica => ({ name, address, isListed: () => ready.has(name) }),
    );
    const traffic = await CountedTraffic.start({
      world,
      replicas: listed,
      requestsPerSecond,
      method,
    });
    await expectServed(traffic, ...serving);
    return traffic;
  }

  /** By each pod through each of these, and through no other. */
  async function expectServed(traffic: CountedTraffic, ...serving: readonly string[]) {
    const pods = await world.pods();
    const through = serving.map((name) => ({ name, address: replica(name).address }));
    expect(await traffic.servedThroughEvery(pods, through)).toEqual(expectedFrom(pods, through));
  }

  async function finish(traffic: CountedTraffic): Promise<void> {
    await traffic.finish();
    expect(traffic.outcomes()).toEqual({ 200: traffic.sent });
    const { requests, unserved } = traffic.entryCounts;
    expect({ requests, unserved }).toEqual({ requests: traffic.sent, unserved: 0 });
  }

  /** kill -9; gives a moment at which nothing of it was left. */
  async function killAll(name: string): Promise<MonotonicMs> {
    const { clock, processes, timers } = world.environment;
    const state = await replica(name).nginx();
    if (state === undefined) throw new Error(`the nginx of ${name} does not answer`);
    const { pid = 0 } = replica(name);
    const pids = [pid, state.masterPid, ...state.workerPids];
    for (const one of pids) processes.kill(one, "SIGKILL");
    await replica(name).kill();
    while (pids.some((pid) => processes.isAlive(pid))) await timers.sleep(1);
    return clock.monotonicMs();
  }
});
