// What happens to the shops while requests pass, and what each proxy makes of it. Everything happens to
// all proxies at once; when it happens is drawn from a seed, because a proxy that applies changes at
// intervals does well or badly with even spacing.
import { execFileSync } from "node:child_process";
import { hostOf, type ShopPod } from "../e2e/shops-world.ts";
import { randomBetween, randomInt } from "../src/environment/random.ts";
import { endpointSliceKind } from "../src/kube/kinds/endpoint-slice.ts";
import { podKind } from "../src/kube/kinds/pod.ts";
import { Reflector } from "../src/kube/reflector/reflector.ts";
import { behaviourPrefix } from "../src/lab/kubelet/pod-behaviour.ts";
import type { TrafficResult } from "../src/lab/traffic/traffic-result.ts";
import { SeededRandom } from "../src/simulation/seeded-random.ts";
import { median } from "./benchmark.ts";
import {
  createIngress,
  lossIn,
  PeersWorld,
  replaceRules,
  ruleOf,
  type Subject,
  subjects,
} from "./peers-world.ts";

export type BySubject<Value> = Readonly<Partial<Record<Subject, Value>>>;

const seed = 1;

/** Everyone has shown a change by then, with the slices in time: ingress-nginx needs 4.4 s. */
const settleMs = 8_000;

/** A controller that is asked to be late and is not this late would make the comparison wrong. */
const lateShareMin = 0.8;

/** From a request to the answer; later is too late for its client. */
const deadlineMs = 10_000;

export interface Lags {
  readonly leaveMs: readonly number[];
  readonly joinMs: readonly number[];
}

export interface LagResult {
  readonly lags: BySubject<Lags>;
  /** From the pod's deletion until the EndpointSlices show it. */
  readonly publishedMs: readonly number[];
}

export interface LagPlan {
  readonly lateMs: number;
  readonly deletions: number;
  readonly betweenMs: readonly [least: number, most: number];
}

/**
 * Deletes pods that go on answering, so that the last request that one answers shows when the proxy
 * stopped using it. From the watch event with the deletion, or with the readiness of the new pod.
 */
export async function measureLag({ lateMs, deletions, betweenMs }: LagPlan): Promise<LagResult> {
  const graceSeconds = (lateMs + settleMs) / 1_000;
  const annotations = () => ({ [`${behaviourPrefix}on-term`]: "ignore" });
  const size = { shops: 1, replicas: 4, nodes: 2 };
  const world = await PeersWorld.start({ ...size, lateMs, graceSeconds, annotations });
  try {
    const { shops } = world;
    const { clock, timers } = shops.environment;
    const random = new SeededRandom({ seed, name: `lag ${lateMs}` });
    const [shop = ""] = shops.shops;
    const traffic = world.traffic(shop, { requestsPerSecond: 200, deadlineMs });
    const leftAt = new Map<string, number>();
    const joinedAt = new Map<string, number>();
    const unpublishedAt = new Map<string, number>();
    const addressOf = new Map<string, string>();
    const before = new Set((await shops.pods()).map(({ uid }) => uid));
    const watched = { ...shops.environment, client: world.client(), cluster: "lab", indexes: {} };
    const pods = new Reflector({
      ...watched,
      kind: podKind,
      handlers: [
        (change) => {
          // Others are of the control plane.
          const isOfShop = change.object.metadata.namespace === "default";
          if (change.type === "deleted" || !isOfShop) return;
          const { metadata, ready, podIP } = change.object;
          const { uid, deletionTimestamp } = metadata;
          const now = clock.monotonicMs();
          addressOf.set(uid, podIP);
          if (deletionTimestamp !== undefined && !leftAt.has(uid)) leftAt.set(uid, now);
          if (ready === "True" && !before.has(uid) && !joinedAt.has(uid)) joinedAt.set(uid, now);
        },
      ],
    });
    const slices = new Reflector({
      ...watched,
      kind: endpointSliceKind,
      handlers: [
        (change) => {
          if (change.type !== "updated") return;
          const listed = readyIn(change.object.endpoints);
          for (const address of readyIn(change.previous.endpoints)) {
            if (!listed.has(address)) unpublishedAt.set(address, clock.monotonicMs());
          }
        },
      ],
    });
    pods.start();
    slices.start();
    try {
      await Promise.all([pods.waitForSync(), slices.waitForSync()]);
      for (let number = 0; number < deletions; number += 1) {
        await timers.sleep(randomBetween(random, ...betweenMs));
        // A pod that leaves before a proxy uses it would have no times there.
        const isUsed = ({ uid }: ShopPod) =>
          subjects.every((one) => firstUse(traffic.of(one), uid, 0) < Number.POSITIVE_INFINITY);
        let usable: readonly ShopPod[] = [];
        await shops.until("every proxy uses one of the pods", async () => {
          const current = (await shops.pods()).filter((pod) => pod.isReady && !pod.isLeaving);
          usable = current.filter(isUsed);
          return usable.length > 0;
        });
        const pod = usable[randomInt(random, usable.length)];
        if (pod !== undefined) await shops.deletePod(pod);
      }
      await timers.sleep(lateMs + settleMs);
      await traffic.finish();
    } finally {
      await Promise.all([pods.stop(), slices.stop()]);
    }
    const publishedMs = [...leftAt].map(([uid, at]) => {
      return (unpublishedAt.get(addressOf.get(uid) ?? "") ?? Number.NaN) - at;
    });
    requireLateness(publishedMs, lateMs);
    const lags = bySubject((subject) => {
      const uses = usesOf(traffic.of(subject));
      const leave = [...leftAt].map(([uid, at]) => (uses.get(uid)?.last ?? Number.NaN) - at);
      const join = [...joinedAt].map(([uid, at]) => (uses.get(uid)?.first ?? Number.NaN) - at);
      return { leaveMs: all(subject, leave), joinMs: all(subject, join) };
    });
    return { lags, publishedMs };
  } finally {
    await world.stop();
  }
}

function requireLateness(publishedMs: readonly number[], lateMs: number): void {
  if (lateMs === 0 || median(publishedMs) >= lateMs * lateShareMin) return;
  throw new Error(`the endpoint controller is ${median(publishedMs)} ms late, not ${lateMs} ms`);
}

function readyIn(
  endpoints: readonly {
    readonly ready?: boolean | undefined;
    readonly addresses: readonly string[];
  }[],
): ReadonlySet<string> {
  return new Set(endpoints.filter((one) => one.ready !== false).flatMap((one) => one.addresses));
}

/** A pod without a request would be left out of the percentiles, to the advantage of the proxy. */
function all(subject: Subject, lags: readonly number[]): readonly number[] {
  if (lags.some(Number.isNaN)) throw new Error(`${subject} sent no request to one of the pods`);
  return lags;
}

interface Use {
  readonly first: number;
  readonly last: number;
}

/** By uid of the pod: when the first and the last request was sent that it answered. */
function usesOf(results: readonly TrafficResult[]): ReadonlyMap<string, Use> {
  const uses = new Map<string, Use>();
  for (const { pod, sentAt } of results) {
    if (pod === undefined) continue;
    const { first = sentAt, last = sentAt } = uses.get(pod.podUid) ?? {};
    uses.set(pod.podUid, { first: Math.min(first, sentAt), last: Math.max(last, sentAt) });
  }
  return uses;
}

export interface Loss {
  readonly sent: number;
  readonly failed: number;
  /** The failed ones by status (`502`) or by error (`DEADLINE`). */
  readonly failedBy: Readonly<Record<string, number>>;
}

export interface RolloutLosses {
  readonly get: Loss;
  readonly post: Loss;
  readonly long: Loss;
}

export interface RolloutPlan {
  readonly lateMs: number;
  readonly rollouts: number;
}

/** Longer than the answer of a slow pod. */
const longDeadlineMs = 15_000;

/**
 * Rolling restarts of two shops. The pods of the first end at once when they are asked to; those of the
 * second take 3 s for an answer, refuse new connections at their end and finish their requests.
 */
export async function measureRollouts(plan: RolloutPlan): Promise<BySubject<RolloutLosses>> {
  const { lateMs, rollouts } = plan;
  const annotations = (_: string, index: number): Readonly<Record<string, string>> =>
    index === 0
      ? { [`${behaviourPrefix}on-term`]: "exit" }
      : { [`${behaviourPrefix}on-term`]: "drain", [`${behaviourPrefix}response-time`]: "3s" };
  const world = await PeersWorld.start({ shops: 2, replicas: 4, nodes: 2, lateMs, annotations });
  try {
    const { shops } = world;
    const { timers } = shops.environment;
    const random = new SeededRandom({ seed, name: `rollouts ${lateMs}` });
    const [quick = "", slow = ""] = shops.shops;
    const traffic = {
      get: world.traffic(quick, { requestsPerSecond: 100, deadlineMs }),
      post: world.traffic(quick, { requestsPerSecond: 50, deadlineMs, method: "POST" }),
      long: world.traffic(slow, { requestsPerSecond: 10, deadlineMs: longDeadlineMs }),
    };
    for (let number = 0; number < rollouts; number += 1) {
      await timers.sleep(randomBetween(random, 500, 2_500));
      const release = String(number + 2);
      await shops.roll(release);
      await shops.released(release);
      await timers.sleep(lateMs + settleMs);
    }
    await Promise.all(Object.values(traffic).map((one) => one.finish()));
    return bySubject((subject) => ({
      get: lossOfAll(traffic.get.of(subject)),
      post: lossOfAll(traffic.post.of(subject)),
      long: lossOfAll(traffic.long.of(subject)),
    }));
  } finally {
    await world.stop();
  }
}

function lossOfAll(results: readonly TrafficResult[]): Loss {
  const lost = results.filter(lossIn);
  const failedBy: Record<string, number> = {};
  for (const { outcome } of lost) {
    const how = outcome.kind === "failed" ? outcome.code : String(outcome.status);
    failedBy[how] = (failedBy[how] ?? 0) + 1;
  }
  return { sent: results.length, failed: lost.length, failedBy };
}

export interface SilentResult {
  readonly get: Loss;
  readonly post: Loss;
  /** Successful GETs of more than a second. */
  readonly slow: number;
  /** From the silence to the last GET that failed or was slow, the longest of all episodes. */
  readonly noticedMs: number;
  /** From the end of the silence to the first request that each pod answered. */
  readonly backMs: readonly number[];
}

export interface SilentPlan {
  readonly episodes: number;
  readonly silentMs: number;
}

const slowMs = 1_000;
/** A pod that is not used by then is not used again. */
const backMostMs = 20_000;

/**
 * Pods whose packets are dropped: a pod alone and a whole node in turns. The API shows nothing of it.
 */
export async function measureSilence(plan: SilentPlan): Promise<BySubject<SilentResult>> {
  const world = await PeersWorld.start({ shops: 1, replicas: 6, nodes: 3, lateMs: 0 });
  try {
    const { shops } = world;
    const { clock, timers } = shops.environment;
    const random = new SeededRandom({ seed, name: "silence" });
    const [shop = ""] = shops.shops;
    const traffic = {
      get: world.traffic(shop, { requestsPerSecond: 100, deadlineMs }),
      post: world.traffic(shop, { requestsPerSecond: 20, deadlineMs, method: "POST" }),
    };
    const pods = await shops.pods();
    const episodes: Episode[] = [];
    for (let number = 0; number < plan.episodes; number += 1) {
      await timers.sleep(randomBetween(random, 500, 2_500));
      const first = pods[randomInt(random, pods.length)];
      const silent = pods.filter(({ uid, node }) =>
        number % 2 === 0 ? uid === first?.uid : node === first?.node,
      );
      const beganAt = clock.monotonicMs();
      for (const { address } of silent) dropPackets(address, "add");
      await timers.sleep(plan.silentMs);
      for (const { address } of silent) dropPackets(address, "del");
      const endedAt = clock.monotonicMs();
      episodes.push({ silent, beganAt, endedAt });
      await isBack(world, traffic.get, { silent, endedAt });
    }
    await Promise.all(Object.values(traffic).map((one) => one.finish()));
    return bySubject((subject) => {
      const gets = traffic.get.of(subject);
      const during = (results: readonly TrafficResult[]) =>
        results.filter(({ sentAt }) =>
          episodes.some(({ beganAt, endedAt }) => beganAt <= sentAt && sentAt < endedAt),
        );
      const bad = gets.filter((one) => lossIn(one) || isSlow(one));
      return {
        get: lossOfAll(during(gets)),
        post: lossOfAll(during(traffic.post.of(subject))),
        slow: during(gets).filter((one) => !lossIn(one) && isSlow(one)).length,
        noticedMs: Math.max(
          ...episodes.map(({ beganAt, endedAt }) => {
            const own = bad.filter(({ sentAt }) => beganAt <= sentAt && sentAt < endedAt);
            return Math.max(0, ...own.map(({ sentAt }) => sentAt - beganAt));
          }),
        ),
        backMs: episodes.flatMap(({ silent, endedAt }) =>
          silent.map(({ uid }) => firstUse(gets, uid, endedAt) - endedAt),
        ),
      };
    });
  } finally {
    await world.stop();
  }
}

interface Episode {
  readonly silent: readonly ShopPod[];
  readonly beganAt: number;
  readonly endedAt: number;
}

function isSlow({ sentAt, doneAt }: TrafficResult): boolean {
  return doneAt - sentAt > slowMs;
}

/** Infinity when there is none. */
function firstUse(results: readonly TrafficResult[], uid: string, after: number): number {
  const own = results.filter(({ pod, sentAt }) => pod?.podUid === uid && sentAt >= after);
  return Math.min(...own.map(({ sentAt }) => sentAt));
}

/** Waits until every proxy uses every pod, or for as long as that may take. */
async function isBack(
  { proxies, shops }: PeersWorld,
  gets: { of(subject: Subject): readonly TrafficResult[] },
  { silent, endedAt }: Pick<Episode, "silent" | "endedAt">,
): Promise<void> {
  const { clock, timers } = shops.environment;
  const isUsed = ({ uid }: ShopPod): boolean =>
    proxies.every(({ name }) => firstUse(gets.of(name), uid, endedAt) < Number.POSITIVE_INFINITY);
  while (!silent.every(isUsed) && clock.monotonicMs() - endedAt < backMostMs) {
    await timers.sleep(100);
  }
}

/** Everything that the address sends, acknowledgements too. */
function dropPackets(address: string, how: "add" | "del"): void {
  execFileSync("ip", ["rule", how, "pref", "10", "from", address, "blackhole"]);
}

export interface RouteTimes {
  /** A new host. */
  readonly newMs: readonly number[];
  /** A host that gets another service. */
  readonly changedMs: readonly number[];
}

const pollMs = 5;
const routedWithinMs = 30_000;

/** From the answer of the API server until a request is answered by the new route. */
export async function measureRoutes(changes: number): Promise<BySubject<RouteTimes>> {
  const world = await PeersWorld.start({ shops: 2, replicas: 2, nodes: 2, lateMs: 0 });
  try {
    const { shops, proxies } = world;
    const { timers } = shops.environment;
    const client = world.client();
    const random = new SeededRandom({ seed, name: "routes" });
    const [first = "", second = ""] = shops.shops;
    const uidsOf = async (shop: string) =>
      new Set((await shops.pods()).filter((pod) => pod.shop === shop).map(({ uid }) => uid));
    const firstPods = await uidsOf(first);
    const secondPods = await uidsOf(second);
    const times = new Map<Subject, MutableTimes>(
      proxies.map(({ name }) => [name, { newMs: [], changedMs: [] }]),
    );
    for (let number = 0; number < changes; number += 1) {
      const own = hostOf(`route-${number}`);
      await timers.sleep(randomBetween(random, 500, 3_000));
      await Promise.all(
        proxies.map(async ({ name, url }) => {
          const asked = { name: `route-${number}-${name}`, className: name };
          await createIngress(client, { ...asked, rules: [ruleOf(own, first)] });
          times
            .get(name)
            ?.newMs.push(await timeUntilServed(world, { url, host: own, by: firstPods }));
        }),
      );
      await timers.sleep(randomBetween(random, 500, 3_000));
      await Promise.all(
        proxies.map(async ({ name, url }) => {
          const asked = { name: `route-${number}-${name}`, rules: [ruleOf(own, second)] };
          await replaceRules(client, asked);
          times
            .get(name)
            ?.changedMs.push(await timeUntilServed(world, { url, host: own, by: secondPods }));
        }),
      );
    }
    return bySubject((subject) => times.get(subject) ?? { newMs: [], changedMs: [] });
  } finally {
    await world.stop();
  }
}

interface MutableTimes {
  readonly newMs: number[];
  readonly changedMs: number[];
}

async function timeUntilServed(
  { shops }: PeersWorld,
  {
    url,
    host,
    by,
  }: { readonly url: string; readonly host: string; readonly by: ReadonlySet<string> },
): Promise<number> {
  const { clock, timers, network } = shops.environment;
  const acceptedAt = clock.monotonicMs();
  for (;;) {
    const sentAt = clock.monotonicMs();
    if (sentAt - acceptedAt > routedWithinMs) throw new Error(`${url} does not route ${host}`);
    const { status, body } = await network.request({ method: "GET", url, headers: { host } });
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString("utf8");
    if (status === 200 && [...by].some((uid) => text.includes(uid))) return sentAt - acceptedAt;
    await timers.sleep(pollMs);
  }
}

function bySubject<Value>(value: (subject: Subject) => Value): BySubject<Value> {
  return Object.fromEntries(subjects.map((subject) => [subject, value(subject)]));
}
