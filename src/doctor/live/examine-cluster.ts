// Examines a live cluster: counts, lists, then samples for a while what only time shows, and reads the
// logs of the control plane last, so that they have the same time in them. Everything goes to the
// readers of saved files; causes do not know the difference.
import { elapsedMs } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import type { RawRecord } from "../../kube/kinds/fields.ts";
import { observationKind } from "../evidence/observations.ts";
import { ChangesWatch } from "./changes-watch.ts";
import { type ComponentPod, componentPod } from "./component-pods.ts";
import type { Gathered } from "./gathered.ts";
import {
  isLock,
  type LiveKind,
  liveKinds,
  recordIn,
  recordsIn,
  roleKinds,
  textIn,
  trimmed,
} from "./live-kinds.ts";
import type { LiveReader } from "./live-reader.ts";
import { MetricsReader } from "./metrics-reader.ts";
import { Sampler } from "./sampler.ts";
import { checkServers, type ServerAt, serverRequestsMax } from "./servers-check.ts";

export interface LiveOptions extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly cluster: string;
  readonly reader: LiveReader;
  readonly gathered: Gathered;
  readonly signal: AbortSignal;
  /** How long it samples. */
  readonly forMs: number;
  readonly maxQps: number;
  /** Roles are listed too, because the cluster is compared with another one. */
  readonly isCompared?: boolean;
  /** To ask each API server; without it only the reached one is examined. */
  readonly serverAt?: ServerAt | undefined;
  /** Called once, after the objects were counted and before they are listed. */
  readonly onCost: (cost: ApiCost) => void;
  readonly onProgress: (step: string, detail: string) => void;
}

/** Numbers of requests; all are upper bounds as far as the numbers of objects are known. */
export interface ApiCost {
  /** Objects by resource; undefined where the server does not report the number. */
  readonly objects: ReadonlyMap<string, number | undefined>;
  readonly lists: number;
  /** To list the watched objects once more, and to check that the watches are up to date. */
  readonly watches: number;
  readonly perSample: number;
  readonly sampleEveryMs: number;
  /** Metrics pages, both times. */
  readonly metrics: number;
  readonly logs: number;
  /** All of them, with those that were sent to count the objects. */
  readonly total: number;
}

/** Replicas of one program; more of them show the same. */
const podsOfProgramMax = 5;
const programs = 4;

/** Some minutes of a busy component. */
const logQuery = "tailLines=5000&limitBytes=4194304";

/** Nodes that are silent at the same time; more of them have another reason. */
const restartsMax = 3;

/** Repetitions of one Event. */
const repetitionsMax = 20;

const pageObjects = 500;

/** Endpoints stand for EndpointSlices, of which there are about as many. */
const watchedResources = ["pods", "services", "endpoints"];

export interface Examination {
  readonly samples: number;
  /** The signal ended it early; what was read until then counts. */
  readonly isInterrupted: boolean;
}

/** Rejects only when what was read cannot be saved. */
export async function examineCluster(options: LiveOptions): Promise<Examination> {
  const progress = { samples: 0 };
  try {
    await examine(options, progress);
    return { ...progress, isInterrupted: false };
  } catch (error) {
    if (!options.signal.aborted || error !== options.signal.reason) throw error;
    return { ...progress, isInterrupted: true };
  }
}

async function examine(options: LiveOptions, progress: { samples: number }): Promise<void> {
  const { reader, gathered, onProgress } = options;
  onProgress("counting objects", "");
  await readVersion(reader, gathered);
  const kinds = options.isCompared === true ? [...liveKinds, ...roleKinds] : liveKinds;
  const counts = await countsOf(reader, kinds);
  if (reader.answers === 0) return;
  const sampler = new Sampler({ ...options, nodes: counts.get("nodes") ?? 0 });
  options.onCost(costOf(options, counts, sampler));
  const components = await readLists(options, kinds, (kind, object) =>
    sampler.listed(kind.kind, object),
  );
  const metrics = new MetricsReader(options, components);
  onProgress("reading metrics", "");
  await metrics.read();
  await observe(options, sampler, progress);
  await metrics.read();
  const { serverAt } = options;
  if (serverAt !== undefined) {
    onProgress("asking each API server", "");
    await checkServers({ ...options, serverAt });
  }
  await readHolders(options, sampler);
  await readRestarts(options);
  await readStatuses(options);
  await readLogs(options, components);
}

function costOf(
  { reader, forMs, serverAt }: LiveOptions,
  counts: ReadonlyMap<string, number | undefined>,
  sampler: Sampler,
): ApiCost {
  const pages = (resource: string): number =>
    counts.has(resource) ? pagesOf(counts.get(resource)) : 0;
  const lists = listsOf(counts);
  const minutes = Math.ceil(forMs / 60_000);
  const watches =
    ChangesWatch.startRequests +
    watchedResources.reduce((sum, resource) => sum + pages(resource), 0) +
    minutes * ChangesWatch.requestsPerMinute;
  const { perSampleMax: perSample, everyMs: sampleEveryMs } = sampler;
  const samples = Math.max(1, Math.floor(forMs / sampleEveryMs) + 1);
  const metrics = 2 + 3 * podsOfProgramMax;
  const logs = podsOfProgramMax * programs;
  // Statuses of Ingresses, holders of locks and pods of silent nodes are read once more at the end.
  const last =
    pages("ingresses") +
    sampler.locksMax +
    restartsMax +
    (serverAt === undefined ? 0 : serverRequestsMax);
  const total = reader.requests + lists + watches + samples * perSample + metrics + logs + last;
  return { objects: counts, lists, watches, perSample, sampleEveryMs, metrics, logs, total };
}

export async function readVersion(reader: LiveReader, gathered: Gathered): Promise<void> {
  const version = await reader.object("version", "/version");
  if (version === undefined) return;
  await gathered.text("version.txt", `Server Version: ${textIn(version, "gitVersion")}\n`);
}

/** By resource; kinds that cannot be listed are left out. */
export async function countsOf(
  reader: LiveReader,
  kinds: readonly LiveKind[],
): Promise<ReadonlyMap<string, number | undefined>> {
  const counts = new Map<string, number | undefined>();
  for (const kind of kinds) {
    const count = await reader.count(kind);
    if (reader.canList(kind)) counts.set(kind.resource, count);
  }
  return counts;
}

/** Requests to list them all. */
export function listsOf(counts: ReadonlyMap<string, number | undefined>): number {
  return [...counts.values()].reduce<number>((sum, count) => sum + pagesOf(count), 0);
}

function pagesOf(count: number | undefined): number {
  return Math.max(1, Math.ceil((count ?? 1) / pageObjects));
}

/** Returns the pods of the control plane, whose flags it reads. */
export async function readLists(
  { reader, onProgress, gathered }: Pick<LiveOptions, "reader" | "onProgress" | "gathered">,
  kinds: readonly LiveKind[],
  onListed: (kind: LiveKind, object: RawRecord) => void,
): Promise<readonly ComponentPod[]> {
  const components: ComponentPod[] = [];
  for (const kind of kinds) {
    let read = 0;
    for await (const page of reader.pages(kind)) {
      read += page.length;
      onProgress(`listing ${kind.resource}`, String(read));
      for (const object of page) {
        onListed(kind, object);
        const component = kind.kind === "Pod" ? componentPod(object) : undefined;
        if (component !== undefined && isOneOfFew(component, components))
          components.push(component);
      }
      await keep(gathered, kind, page);
    }
  }
  for (const { program, namespace, name, flags } of components) {
    if (flags.length === 0) continue;
    await gathered.text(`flags/${namespace}/${program}/${name}.txt`, `${flags.join("\n")}\n`);
  }
  return components;
}

function isOneOfFew({ program }: ComponentPod, others: readonly ComponentPod[]): boolean {
  return others.filter((one) => one.program === program).length < podsOfProgramMax;
}

async function keep(gathered: Gathered, kind: LiveKind, page: readonly RawRecord[]): Promise<void> {
  if (kind.kind === "Event") {
    const lines = page.flatMap(nodeEventLines);
    if (lines.length > 0) await gathered.text("events.txt", `${lines.join("\n")}\n`);
    return;
  }
  const objects = kind.kind === "ConfigMap" ? page.filter(isLock) : page;
  const items = objects.map((object) => trimmed(kind, object));
  await gathered.object(`objects/${kind.resource}.json`, { kind: `${kind.kind}List`, items });
}

/** One line for each time that a node became not ready. */
function nodeEventLines(event: RawRecord): readonly string[] {
  if (textIn(event, "reason") !== "NodeNotReady") return [];
  const { count } = event;
  const times = Math.min(typeof count === "number" ? count : 1, repetitionsMax);
  const at = textIn(event, "lastTimestamp");
  const line = `${at} ${textIn(event, "message").replaceAll(/\s+/g, " ")}`;
  return Array.from({ length: times }, () => line);
}

/** Samples and watches side by side. */
async function observe(
  options: LiveOptions,
  sampler: Sampler,
  progress: { samples: number },
): Promise<void> {
  const { reader, gathered } = options;
  const source = gathered.recordingSource;
  const { isSaved: isRecorded } = gathered;
  const changes = new ChangesWatch({ ...options, client: reader.client, source, isRecorded });
  changes.start();
  try {
    await sampleFor(options, sampler, async () => {
      progress.samples += 1;
      await gathered.recording(changes.takeLines());
    });
  } finally {
    const { evidence, problems } = await changes.stop();
    gathered.facts.changes.add(evidence);
    for (const problem of problems) reader.noteProblem(problem);
    await gathered.recording(changes.takeLines());
  }
}

async function sampleFor(
  { timers, clock, signal, forMs, onProgress, gathered }: LiveOptions,
  sampler: Sampler,
  onSample: () => Promise<void>,
): Promise<void> {
  const startedAt = clock.monotonicMs();
  for (;;) {
    const beganAt = clock.monotonicMs();
    await gathered.object("observed.json", { ...(await sampler.sample()) });
    await onSample();
    const passedMs = elapsedMs(startedAt, clock.monotonicMs());
    if (passedMs + sampler.everyMs > forMs) return;
    const left = `${Math.ceil((forMs - passedMs) / 1000)} s left`;
    onProgress("observing changes, heartbeats, leader locks and kubernetes endpoints", left);
    const tookMs = elapsedMs(beganAt, clock.monotonicMs());
    await timers.sleep(Math.max(0, sampler.everyMs - tookMs), signal);
  }
}

/** A holder that is in no list may have been created since; then it is added to the pods. */
async function readHolders({ reader, gathered }: LiveOptions, sampler: Sampler): Promise<void> {
  const kind = liveKinds.find((one) => one.kind === "Pod");
  if (kind === undefined || !reader.canList(kind)) return;
  for (const { namespace, holder } of sampler.holders()) {
    if (gathered.facts.objects.pods.has(`${namespace}/${holder}`)) continue;
    const names = [namespace, holder].map(encodeURIComponent);
    const pod = await reader.object("pods", `/api/v1/namespaces/${names[0]}/pods/${names[1]}`);
    if (pod !== undefined) await gathered.object("objects/holders.json", trimmed(kind, pod));
  }
}

/**
 * A node with one heartbeat after a long gap is late, or was restarted: then its containers have ended or
 * started in the gap. All these times are by the clock of the node.
 */
async function readRestarts({ reader, gathered, clock }: LiveOptions): Promise<void> {
  const kind = liveKinds.find((one) => one.kind === "Pod");
  if (kind === undefined || !reader.canList(kind)) return;
  const silent = [...gathered.facts.objects.observed.heartbeats.values()].filter(
    ({ count, longGaps }) => count === 1 && longGaps === 1,
  );
  const restarted: string[] = [];
  for (const { node, lastMs, longestGapMs } of silent.slice(0, restartsMax)) {
    const selector = encodeURIComponent(`spec.nodeName=${node}`);
    const pods = await reader.items("pods", `/api/v1/pods?fieldSelector=${selector}`);
    const times = (pods ?? []).flatMap(containerTimes);
    if (times.some((atMs) => atMs > lastMs - longestGapMs)) restarted.push(node);
  }
  if (restarted.length === 0) return;
  const observedAt = new Date(clock.wallMs()).toISOString();
  const observed = { kind: observationKind, observedAt, heartbeats: {}, locks: [], restarted };
  await gathered.object("observed.json", observed);
}

/** When its containers started, and when those before them ended. */
function containerTimes(pod: RawRecord): readonly number[] {
  return recordsIn(recordIn(pod, "status")["containerStatuses"]).flatMap((container) => {
    const started = recordIn(recordIn(container, "state"), "running")["startedAt"];
    const ended = recordIn(recordIn(container, "lastState"), "terminated")["finishedAt"];
    return [started, ended].map((time) => Date.parse(String(time))).filter(Number.isFinite);
  });
}

/** A status that is empty at both ends of the observation is not just being written. */
async function readStatuses({ reader, gathered }: LiveOptions): Promise<void> {
  const kind = liveKinds.find((one) => one.kind === "Ingress");
  const { ingresses } = gathered.facts.objects;
  if (kind === undefined || ![...ingresses.values()].some(({ addresses }) => addresses === 0))
    return;
  for await (const page of reader.pages(kind)) {
    const items = page.map((object) => trimmed(kind, object));
    await gathered.object(`objects/${kind.resource}.later.json`, { kind: "IngressList", items });
  }
}

async function readLogs(
  { reader, gathered, onProgress }: LiveOptions,
  components: readonly ComponentPod[],
): Promise<void> {
  for (const { program, namespace, name, container } of components) {
    onProgress("reading logs", name);
    const names = [namespace, name].map(encodeURIComponent);
    const path = `/api/v1/namespaces/${names[0]}/pods/${names[1]}/log`;
    const query = `container=${encodeURIComponent(container)}&${logQuery}`;
    const text = await reader.text("pods/log", `${path}?${query}`);
    if (text !== undefined && text !== "") {
      await gathered.text(`logs/${namespace}/${program}/${name}.log`, text);
    }
  }
}
