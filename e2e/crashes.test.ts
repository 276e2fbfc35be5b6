// Killed processes come back, and the others continue: workers, nginx and Lockstep die under load,
// of one replica among three. Only requests in the hands of the dead process are lost; afterwards
// every request is served, by the right pods.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { MonotonicMs } from "../src/environment/clock.ts";
import { socketPathOf } from "../src/outputs/nginx/nginx-prefix.ts";
import { NginxProcess } from "../src/outputs/nginx/nginx-process.ts";
import { CountedTraffic, expectedFrom } from "./counted-traffic.ts";
import { IngressProcess } from "./ingress-process.ts";
import { withoutNginx } from "./proxy-world.ts";
import { type ShopPod, ShopsWorld } from "./shops-world.ts";

const requestsPerSecond = 60;
const podsEach = 3;

/** Long enough that the one that dies has requests in its hands. */
const annotations = { "lab.lockstep.dev/response-time": "30ms" };

const unharmed = { refused: 0, broken: 0 };

describe.skipIf(withoutNginx !== false)("under load, with one replica of three", () => {
  let world: ShopsWorld;
  const replicas: IngressProcess[] = [];
  let victim: IngressProcess;
  /** As last seen: the API server may be down. */
  let pods: readonly ShopPod[] = [];
  beforeAll(async () => {
    world = await ShopsWorld.start({
      shops: 2,
      replicas: podsEach,
      annotations: () => annotations,
    });
    victim = await IngressProcess.start(world, "victim");
    replicas.push(victim);
    for (const name of ["other-1", "other-2"]) {
      replicas.push(await IngressProcess.start(world, name));
    }
  });
  afterAll(() => world?.stop());

  it("a killed worker is replaced, and the state is kept", async () => {
    const traffic = await startTraffic();
    const before = await nginxOf(victim);
    const goneAt = await killed(before.workerPids.slice(0, 1));
    await world.until("the worker is replaced", async () => {
      const workers = (await victim.nginx())?.workerPids ?? [];
      return workers.length === before.workerPids.length && !sharesAll(workers, before.workerPids);
    });
    await expectAllServe(traffic);
    const { bootId, masterPid, generation } = await nginxOf(victim);
    expect({ bootId, masterPid, generation }).toEqual({
      bootId: before.bootId,
      masterPid: before.masterPid,
      generation: before.generation,
    });
    await traffic.finish();
    expectLostOnly(traffic, goneAt);
    expect(victimCounts(traffic)).toMatchObject({ refused: 0 });
  });

  it("a killed nginx is started again and loaded", async () => {
    const traffic = await startTraffic();
    const before = await nginxOf(victim);
    const goneAt = await killed([before.masterPid, ...before.workerPids]);
    await world.until("another nginx serves", async () => {
      const { bootId = before.bootId } = (await victim.nginx()) ?? {};
      return bootId !== before.bootId;
    });
    await expectAllServe(traffic);
    expect((await nginxOf(victim)).masterPid).not.toBe(before.masterPid);
    await traffic.finish();
    expectLostOnly(traffic, goneAt);
  });

  it("a killed Lockstep is not noticed by clients, and its nginx obeys the next one", async () => {
    const traffic = await startTraffic();
    const before = await nginxOf(victim);
    await victim.kill();
    const deleted = (await world.pods()).find(({ shop }) => shop === "shop-1");
    if (deleted === undefined) throw new Error("shop-1 has no pod");
    await world.deletePod(deleted);
    await world.until("the pod is replaced", async () => {
      const pods = await world.pods();
      const areDone = pods.every(({ isReady, isLeaving }) => isReady && !isLeaving);
      return (
        areDone && pods.length === 2 * podsEach && pods.every(({ uid }) => uid !== deleted.uid)
      );
    });
    // This nginx gets no pushes; it tries the dead pod and then another.
    const deletedAt = traffic.sent;
    await world.until("the nginx without Lockstep has tried the deleted pod", async () =>
      (await triesAfter(traffic, deletedAt)).includes(deleted.address),
    );
    await victim.start();
    const startedAt = traffic.sent;
    await expectAllServe(traffic);
    const { bootId, masterPid } = await nginxOf(victim);
    expect({ bootId, masterPid }).toEqual({ bootId: before.bootId, masterPid: before.masterPid });
    const addresses = (await world.pods()).filter(({ shop }) => shop === "shop-1");
    expect(await victim.activeAddresses("default/shop-1:80")).toEqual(
      new Set(addresses.map(({ address }) => address)),
    );
    await traffic.finish();
    expect(traffic.outcomes()).toEqual({ 200: traffic.sent });
    expect(traffic.entryCounts.replicas).toMatchObject(replicas.map(() => unharmed));
    const tries = await triesAfter(traffic, startedAt);
    expect(tries).not.toContain(deleted.address);
  });

  it("when all of it is killed the others serve, and it serves again when it is started", async () => {
    const traffic = await startTraffic();
    const before = await nginxOf(victim);
    await victim.kill();
    const goneAt = await killed([before.masterPid, ...before.workerPids]);
    await world.until("the dead replica has refused requests", () => {
      return (victimCounts(traffic)?.refused ?? 0) > 0;
    });
    await victim.start();
    await expectAllServe(traffic);
    await traffic.finish();
    expectLostOnly(traffic, goneAt);
    expect((await nginxOf(victim)).bootId).not.toBe(before.bootId);
  });

  it("when all of it is killed while the API server is down, nginx alone comes back serving", async () => {
    const { environment, apiServer } = world;
    const traffic = await startTraffic();
    const before = await nginxOf(victim);
    apiServer.faults.setRules([{ match: {}, resets: { rate: 1 } }]);
    apiServer.faults.cache.resetWatches();
    await victim.kill();
    const goneAt = await killed([before.masterPid, ...before.workerPids]);
    const { prefix } = victim;
    await environment.files.remove(socketPathOf(prefix));
    // As an init system would.
    const nginx = new NginxProcess({ ...environment, prefix, program: "nginx" });
    await nginx.start(new AbortController().signal);
    await expectAllServe(traffic);
    const alone = await nginxOf(victim);
    expect(alone.bootId).not.toBe(before.bootId);
    apiServer.faults.setRules([]);
    await victim.start();
    await expectAllServe(traffic);
    expect((await nginxOf(victim)).bootId).toBe(alone.bootId);
    await traffic.finish();
    expectLostOnly(traffic, goneAt);
  });

  /** Resolves when every pod serves through every replica. */
  async function startTraffic(): Promise<CountedTraffic> {
    const traffic = await CountedTraffic.start({ world, replicas, requestsPerSecond });
    await expectAllServe(traffic);
    return traffic;
  }

  async function expectAllServe(traffic: CountedTraffic): Promise<void> {
    pods = await world.pods().catch(() => pods);
    expect(await traffic.servedThroughEvery(pods)).toEqual(expectedFrom(pods, replicas));
  }

  /** kill -9; gives a moment at which nothing of them was left. */
  async function killed(pids: readonly number[]): Promise<MonotonicMs> {
    const { clock, processes } = world.environment;
    for (const pid of pids) processes.kill(pid, "SIGKILL");
    while (pids.some((pid) => processes.isAlive(pid))) await world.environment.timers.sleep(1);
    return clock.monotonicMs();
  }

  /**
   * Only requests in the hands of the dead process may be lost: none sent later, none elsewhere.
   */
  function expectLostOnly(traffic: CountedTraffic, goneAt: MonotonicMs): void {
    const { results, sent, entryCounts } = traffic;
    expect(results.length).toBe(sent);
    expect(traffic.lost().filter(({ sentAt }) => sentAt > goneAt)).toEqual([]);
    expect(entryCounts).toMatchObject({
      unserved: 0,
      replicas: [{ name: victim.name }, unharmed, unharmed],
    });
  }

  function victimCounts({ entryCounts }: CountedTraffic) {
    return entryCounts.replicas.find(({ name }) => name === victim.name);
  }

  /** The addresses that the victim tried for the requests since that number, all of them. */
  async function triesAfter(traffic: CountedTraffic, mark: number): Promise<readonly string[]> {
    const through = traffic.results.filter(
      ({ number, replica }) => number > mark && replica === victim.name,
    );
    let tries = await victim.tries();
    await world.until("nginx has written its log", async () => {
      tries = await victim.tries();
      return through.every(({ target }) => tries.has(target));
    });
    return through.flatMap(({ target }) => tries.get(target) ?? []);
  }
});

async function nginxOf(replica: IngressProcess) {
  const state = await replica.nginx();
  if (state === undefined) throw new Error(`the nginx of ${replica.name} does not answer`);
  return state;
}

function sharesAll(some: readonly number[], others: readonly number[]): boolean {
  return some.every((one) => others.includes(one));
}
