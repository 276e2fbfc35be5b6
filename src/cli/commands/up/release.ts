// A release of the shop in the busy cluster under traffic, with its times at every hop, its requests and
// the doctor's finding. Every number is measured here.
import type { Finding } from "../../../doctor/finding.ts";
import { elapsedMs } from "../../../environment/clock.ts";
import { durationText } from "../../../environment/duration-text.ts";
import type { Environment } from "../../../environment/environment.ts";
import { objectKey } from "../../../kube/kinds/kind.ts";
import { componentPodName } from "../../../lab/controllers/component-pod.ts";
import { controllerManager, controlPlaneNode } from "../../../lab/controllers/kube-controllers.ts";
import { releaseShop, shopReplicas, shopService } from "../../../lab/shop.ts";
import type { Tally } from "../../../lab/traffic/tally.ts";
import { type Journey, lagsAt } from "../../../timeline/journey.ts";
import { earlyLine, journeyRow, rowsHead } from "./changes.ts";
import { Examination } from "./examination.ts";
import type { TrafficWindow } from "./traffic-count.ts";
import type { Narrator } from "./view.ts";
import { busyCluster, type World } from "./world.ts";

export interface ReleaseOptions {
  readonly environment: Environment;
  readonly world: World;
  readonly traffic: TrafficWindow | undefined;
  readonly narrator: Narrator;
  readonly signal: AbortSignal;
}

/** The result of one release; lags in milliseconds. */
export interface Release {
  /** Median over the removed pods at each hop; undefined without a source. */
  readonly publishedMs: number | undefined;
  readonly stockMs: number | undefined;
  readonly lockstepMs: number | undefined;
  readonly stock: Tally | undefined;
  readonly lockstep: Tally | undefined;
  readonly finding: Finding | undefined;
}

/**
 * Deduplication limits the wait to services × 2 ÷ qps, about 33 s; three times that is a failure.
 */
const releaseLongestMs = 100_000;

const pollMs = 500;

/** Access logs are written up to a second late. */
const logDelayMs = 1_500;

/** Traffic before the release, to see both sides serve. */
const baselineMs = 2_000;

export interface ReleasePlan {
  /** Every pod of the shop is replaced by one of this name. */
  readonly name: string;
  /** The doctor looks for the cause during the release. */
  readonly examine: boolean;
  /** Called with each finding, surer each time. */
  readonly onFinding?: (finding: Finding) => void;
  /** The release is not waited for any longer. */
  readonly isEnough?: () => boolean;
}

export async function release(
  options: ReleaseOptions,
  { name, examine, onFinding, isEnough = () => false }: ReleasePlan,
): Promise<Release> {
  const { environment, world, traffic, narrator, signal } = options;
  const { clock, timers } = environment;
  const before = new Set(world.journeys.map(({ id }) => id));
  const examination = examinationOf(options);
  let finding = examine ? await examination.look() : undefined;
  traffic?.reset();
  await timers.sleep(baselineMs, signal);
  const startedAt = clock.monotonicMs();
  narrator.step("every pod of the shop in alpha is replaced", "listed: old pods in Endpoints");
  await releaseShop(world.client(busyCluster), name);
  const shown = new Set<number>();
  for (;;) {
    await timers.sleep(pollMs, signal);
    const sinceMs = elapsedMs(startedAt, clock.monotonicMs());
    const left = leavesOf(world, before);
    showNew(options, left, shown);
    const published = left.filter((journey) => lagsAt(journey, "published").length > 0);
    if (isThrough(left) || isEnough()) break;
    if (sinceMs > releaseLongestMs) break;
    if (examine && finding === undefined) {
      finding = await examination.look();
      if (finding !== undefined) onFinding?.(finding);
    }
    narrator.counters({
      seconds: sinceMs / 1000,
      stock: traffic?.lost("stock"),
      lockstep: traffic?.lost("lockstep"),
      waiting: `listed: ${left.length - published.length}`,
    });
  }
  if (examine) {
    finding = (await examination.look()) ?? finding;
    if (finding !== undefined) onFinding?.(finding);
  }
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

/** All replicas have removed all old pods. */
function isThrough(leaves: readonly Journey[]): boolean {
  return leaves.length >= shopReplicas && leaves.every(({ outcome }) => outcome !== "pending");
}

/** Prints each removal when every Lockstep replica uses it. */
function showNew(
  { narrator }: ReleaseOptions,
  leaves: readonly Journey[],
  shown: Set<number>,
): void {
  for (const journey of leaves) {
    const line = shown.has(journey.id) ? undefined : earlyLine(journey);
    if (line === undefined) continue;
    shown.add(journey.id);
    narrator.text(line);
  }
}

async function summed(
  { traffic, narrator }: ReleaseOptions,
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

/** Four lines; both sides get the same requests. */
function releaseLines(release: Release): readonly string[] {
  const { publishedMs, stock, lockstep } = release;
  const lag = (ms: number | undefined) => (ms === undefined ? "?" : durationText(ms));
  const side = (name: string, routedMs: number | undefined, tally: Tally | undefined) =>
    `  ${name.padEnd(15)}${lag(routedMs).padEnd(12)}` +
    (tally === undefined
      ? "no proxy"
      : `${tally.sentToDead} of ${tally.requests} requests sent to dead pods, ${tally.lost} lost`);
  return [
    `  Median real time until a removed pod left the Endpoints: ${lag(publishedMs)}.`,
    "  Real time until the proxies stopped using it:",
    side("stock (model)", release.stockMs, stock),
    side("Lockstep", release.lockstepMs, lockstep),
  ];
}

function examinationOf({ environment, world }: ReleaseOptions): Examination {
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
export function flagsOf(change: string): Readonly<Record<string, number>> {
  return Object.fromEntries(
    [...change.matchAll(/--([\w-]+)=(\d+)/g)].map(([, flag = "", value]) => [flag, Number(value)]),
  );
}

function median(values: readonly number[]): number | undefined {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}
