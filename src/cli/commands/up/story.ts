// The story that `lockstep up` tells, in acts, over a running world: a release under a throttled
// controller, the cause named, the fix applied, a release again. Every figure is measured here, and
// at the end it is said whether the story held.

import type { Finding } from "../../../doctor/finding.ts";
import { elapsedMs } from "../../../environment/clock.ts";
import { durationText } from "../../../environment/duration-text.ts";
import type { Environment } from "../../../environment/environment.ts";
import { objectKey } from "../../../kube/kinds/kind.ts";
import { componentPodName } from "../../../lab/controllers/component-pod.ts";
import { controllerManager, controlPlaneNode } from "../../../lab/controllers/kube-controllers.ts";
import { releaseShop, shopReplicas, shopService } from "../../../lab/shop.ts";
import { ingressNginx } from "../../../lab/stock/ingress-nginx.ts";
import type { Tally } from "../../../lab/traffic/tally.ts";
import { type Journey, lagsAt } from "../../../timeline/journey.ts";
import { findingText } from "../../terminal/finding-text.ts";
import { Examination } from "./examination.ts";
import { earlyLine, journeyRow, rowsHead } from "./journey-lines.ts";
import type { Narrator } from "./narrator.ts";
import type { TrafficCount } from "./traffic-count.ts";
import { busyCluster, type World } from "./world.ts";

export interface StoryOptions {
  readonly environment: Environment;
  readonly world: World;
  readonly traffic: TrafficCount | undefined;
  readonly narrator: Narrator;
  readonly columns: number;
  readonly signal: AbortSignal;
}

/** What one release showed; lags in milliseconds. */
export interface Release {
  /** The median over the pods that left, at each hop; undefined where nobody reports it. */
  readonly publishedMs: number | undefined;
  readonly stockMs: number | undefined;
  readonly lockstepMs: number | undefined;
  readonly stock: Tally | undefined;
  readonly lockstep: Tally | undefined;
  readonly finding: Finding | undefined;
}

export interface StoryResult {
  readonly throttled: Release;
  /** Undefined when the doctor found no cause: then there is no fix. */
  readonly fixed: Release | undefined;
}

/** Deduplication bounds the wait at services × 2 ÷ qps, some 33 s; three times that is a failure. */
const releaseLongestMs = 100_000;

const pollMs = 500;

/** Access logs are written up to a second late. */
const logDelayMs = 1_500;

/** Traffic before the release, so that both sides are seen serving. */
const baselineMs = 2_000;

export async function tellStory(options: StoryOptions): Promise<StoryResult> {
  const { narrator, world } = options;
  narrator.act("3  A release in cluster alpha; its controller manager is throttled (real time)");
  const throttled = await release(options, "first", { examine: true });
  const { finding } = throttled;
  narrator.text("");
  if (finding === undefined) {
    narrator.text("No cause was found, so there is no fix to apply.");
    return { throttled, fixed: undefined };
  }
  narrator.text(findingText(finding, { width: Math.min(options.columns, 100) }));
  const { change } = finding.fix;
  narrator.act(`4  The fix: ${change} (real time)`);
  await world.cluster(busyCluster).controlPlane.restart({ ...flagsOf(change), v: 4 });
  const fixed = await release(options, "second", { examine: false });
  for (const line of stockStillLate(fixed)) narrator.text(line);
  return { throttled, fixed };
}

async function release(
  options: StoryOptions,
  name: string,
  { examine }: { readonly examine: boolean },
): Promise<Release> {
  const { environment, world, traffic, narrator, signal } = options;
  const { clock, timers } = environment;
  const before = new Set(world.journeys.map(({ id }) => id));
  const examination = examinationOf(options);
  let finding = examine ? await examination.look() : undefined;
  traffic?.reset();
  await timers.sleep(baselineMs, signal);
  const startedAt = clock.monotonicMs();
  narrator.step("every pod of the shop in alpha is replaced (listed: old pods in Endpoints)");
  await releaseShop(world.client(busyCluster), name);
  const shown = new Set<number>();
  for (;;) {
    await timers.sleep(pollMs, signal);
    const sinceMs = elapsedMs(startedAt, clock.monotonicMs());
    const left = leavesOf(world, before);
    showNew(options, left, shown);
    const published = left.filter((journey) => lagsAt(journey, "published").length > 0);
    if (isThrough(left)) break;
    if (sinceMs > releaseLongestMs) break;
    if (examine && finding === undefined) finding = await examination.look();
    narrator.counters({
      seconds: sinceMs / 1000,
      stock: traffic?.lost("stock"),
      lockstep: traffic?.lost("lockstep"),
      waiting: `listed: ${left.length - published.length}`,
    });
  }
  if (examine) finding = (await examination.look()) ?? finding;
  await timers.sleep(traffic === undefined ? 0 : logDelayMs, signal);
  return await summed(options, leavesOf(world, before), finding);
}

/** The old pods of the shop in the busy cluster. */
function leavesOf(world: World, before: ReadonlySet<number>): readonly Journey[] {
  return world.journeys.filter(
    ({ id, direction, endpoint }) =>
      !before.has(id) &&
      direction === "leave" &&
      endpoint.service === shopService &&
      endpoint.cluster === busyCluster,
  );
}

/** All old pods have left everywhere. */
function isThrough(leaves: readonly Journey[]): boolean {
  return leaves.length >= shopReplicas && leaves.every(({ outcome }) => outcome !== "pending");
}

/** Each removal is shown as soon as every Lockstep replica routes by it. */
function showNew({ narrator }: StoryOptions, leaves: readonly Journey[], shown: Set<number>): void {
  for (const journey of leaves) {
    const line = shown.has(journey.id) ? undefined : earlyLine(journey);
    if (line === undefined) continue;
    shown.add(journey.id);
    narrator.text(line);
  }
}

async function summed(
  { traffic, narrator }: StoryOptions,
  leaves: readonly Journey[],
  finding: Finding | undefined,
): Promise<Release> {
  const routed = (side: string) =>
    median(
      leaves.flatMap(({ hops }) =>
        hops.flatMap(({ hop, witness, state }) =>
          hop === "routed" && witness.startsWith(side) && state.type === "shown"
            ? [state.lagMs]
            : [],
        ),
      ),
    );
  const result: Release = {
    publishedMs: median(leaves.flatMap((journey) => lagsAt(journey, "published"))),
    stockMs: routed("stock"),
    lockstepMs: routed("lockstep"),
    stock: await traffic?.tally("stock"),
    lockstep: await traffic?.tally("lockstep"),
    finding,
  };
  for (const line of [...rowsHead, ...leaves.map(journeyRow)]) narrator.text(line);
  for (const line of releaseLines(result)) narrator.text(line);
  return result;
}

/** The release in four lines, both sides over the same requests. */
export function releaseLines(release: Release): readonly string[] {
  const { publishedMs, stock, lockstep } = release;
  const lag = (ms: number | undefined) => (ms === undefined ? "?" : durationText(ms));
  const side = (name: string, routedMs: number | undefined, tally: Tally | undefined) =>
    `  ${name.padEnd(15)}${lag(routedMs).padEnd(12)}` +
    (tally === undefined
      ? "no proxy"
      : `${tally.sentToDead} of ${tally.requests} requests sent to dead pods, ${tally.lost} lost`);
  return [
    `  Median time until a removed pod left the Endpoints: ${lag(publishedMs)}.`,
    "  Until the proxies stopped using it:",
    side("stock (model)", release.stockMs, stock),
    side("Lockstep", release.lockstepMs, lockstep),
  ];
}

/** The fix is one of the control plane: what stock adds to it stays. */
export function stockStillLate({ publishedMs, stockMs }: Release): readonly string[] {
  if (publishedMs === undefined || stockMs === undefined) return [];
  const ownMs = stockMs - publishedMs;
  const syncMs = 1000 / ingressNginx.syncsPerSecond;
  if (ownMs < ingressNginx.backendPollMs / 2) return [];
  return [
    `  Stock itself adds ${durationText(ownMs)}; the fix does not change that. Like ingress-nginx, it`,
    `  reads changes at most every ${durationText(syncMs)}, and its nginx workers poll every`,
    `  ${durationText(ingressNginx.backendPollMs)}.`,
  ];
}

function examinationOf({ environment, world }: StoryOptions): Examination {
  const { controlPlane } = world.cluster(busyCluster);
  return new Examination({
    ...environment,
    client: world.client(busyCluster),
    pod: objectKey(componentPodName(controllerManager, controlPlaneNode)),
    metricsUrl: () => controlPlane.metricsUrl,
    journeys: () => world.journeys,
  });
}

/** `--kube-api-qps=300` → the flag and its number. */
function flagsOf(change: string): Readonly<Record<string, number>> {
  return Object.fromEntries(
    [...change.matchAll(/--([\w-]+)=(\d+)/g)].map(([, flag = "", value]) => [flag, Number(value)]),
  );
}

function median(values: readonly number[]): number | undefined {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}
