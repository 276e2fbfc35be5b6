// Parts 3 and 4 of `lockstep up`: a release with a throttled controller manager, its cause, the
// fix, and a second release. Every number is measured here.

import { weigh } from "../../../doctor/cause.ts";
import { evidenceOf } from "../../../doctor/evidence/evidence.ts";
import type { MetricsPage } from "../../../doctor/evidence/metrics-window.ts";
import { parsePrometheusText } from "../../../doctor/evidence/prometheus-text.ts";
import type { Finding } from "../../../doctor/finding.ts";
import { clientThrottling } from "../../../doctor/rules/client-throttling.ts";
import { elapsedMs } from "../../../environment/clock.ts";
import { durationText } from "../../../environment/duration-text.ts";
import type { Environment } from "../../../environment/environment.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { objectKey } from "../../../kube/kinds/kind.ts";
import { componentPodName } from "../../../lab/controllers/component-pod.ts";
import { controllerManager, controlPlaneNode } from "../../../lab/controllers/kube-controllers.ts";
import { readMetricsPage } from "../../../lab/probe/metrics-source.ts";
import { releaseShop, shopReplicas, shopService } from "../../../lab/shop.ts";
import { ingressNginx } from "../../../lab/stock/ingress-nginx.ts";
import type { Tally } from "../../../lab/traffic/tally.ts";
import { type Journey, lagsAt } from "../../../timeline/journey.ts";
import { findingText } from "../../terminal/finding-text.ts";
import { earlyLine, journeyRow, rowsHead } from "./changes.ts";
import type { TrafficCount } from "./traffic-count.ts";
import type { Narrator } from "./view.ts";
import { busyCluster, type World } from "./world.ts";

interface StoryOptions {
  readonly environment: Environment;
  readonly world: World;
  readonly traffic: TrafficCount | undefined;
  readonly narrator: Narrator;
  readonly columns: number;
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

export interface StoryResult {
  readonly throttled: Release;
  /** Undefined without a cause, because then there is no fix. */
  readonly fixed: Release | undefined;
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

/** All replicas have removed all old pods. */
function isThrough(leaves: readonly Journey[]): boolean {
  return leaves.length >= shopReplicas && leaves.every(({ outcome }) => outcome !== "pending");
}

/** Prints each removal when every Lockstep replica uses it. */
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

/** The fix changes the control plane; the delay of stock itself stays. */
function stockStillLate({ publishedMs, stockMs }: Release): readonly string[] {
  if (publishedMs === undefined || stockMs === undefined) return [];
  const ownMs = stockMs - publishedMs;
  const syncMs = 1000 / ingressNginx.syncsPerSecond;
  if (ownMs < ingressNginx.backendPollMs / 2) return [];
  return [
    `  Stock itself adds ${durationText(ownMs)} (real); the fix does not change that. Like ingress-nginx, it`,
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

/**
 * Collects the evidence for the doctor that any user of the cluster can read: metrics of the
 * controller manager, its log, and the observed changes.
 */
interface ExaminationOptions extends Pick<Environment, "clock" | "network"> {
  readonly client: KubeClient;
  /** The controller manager's pod, `namespace/name`. */
  readonly pod: string;
  readonly metricsUrl: () => string | undefined;
  readonly journeys: () => readonly Journey[];
}

const component = "kube-controller-manager";
const requestDeadlineMs = 10_000;
const logLines = 2_000;

class Examination {
  readonly #options: ExaminationOptions;
  readonly #pages: MetricsPage[] = [];

  constructor(options: ExaminationOptions) {
    this.#options = options;
  }

  /** Reads the metrics again; undefined until two reads, the log and the changes agree. */
  async look(): Promise<Finding | undefined> {
    const { clock, pod, journeys } = this.#options;
    const url = this.#options.metricsUrl();
    const text = await readMetricsPage({ network: this.#options.network, url: () => url });
    if (url === undefined || text === undefined) return undefined;
    this.#pages.push({ atMs: clock.monotonicMs(), samples: parsePrometheusText(text) });
    if (this.#pages.length < 2) return undefined;
    return weigh(
      clientThrottling,
      evidenceOf({
        logs: [{ component, source: pod, lines: await this.#log() }],
        metrics: [{ component, source: url, pages: this.#pages }],
        journeys: {
          source: "journeys observed in this run",
          journeys: journeys(),
          nowMs: clock.monotonicMs(),
        },
      }),
    );
  }

  async #log(): Promise<readonly string[]> {
    const { client, pod } = this.#options;
    const [namespace = "", name = ""] = pod.split("/");
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/log?tailLines=${logLines}`;
    const limits = { deadlineMs: requestDeadlineMs };
    const { body } = await client.request({ verb: "get", method: "GET", path, ...limits });
    return body.toString("utf8").split("\n");
  }
}
