// For tests only: judges every try of the proxy, every answer and every decision by what was really
// true (the ledger), what the API had said (the records) and what Lockstep itself had heard. The
// bounds are in virtual time and come from the constants of the parts they add up.
import type { MonotonicMs } from "../../environment/clock.ts";
import type { Pod } from "../../kube/kinds/pod.ts";
import { backoffMaxMs } from "../../kube/reflector/backoff.ts";
import type { Ledger } from "../../lab/kubelet/ledger.ts";
import { freshnessCheckMs } from "../../sources/cluster-source.ts";
import { probeTimeoutMs } from "../../sources/probe-once.ts";
import { probeEveryMs } from "../../sources/probes.ts";
import type { IngressLoop } from "../ingress-loop.ts";
import type { PodRecord } from "./pod-records.contract.ts";

/** What the judge may look at. */
export interface SoakFacts {
  readonly now: () => number;
  readonly later: (ms: number, callback: () => void) => void;
  readonly ledger: Ledger;
  readonly recordOf: (uid: string) => PodRecord | undefined;
  readonly recordsOf: (service: string) => readonly PodRecord[];
  /** What Lockstep knows and has decided; undefined while it does not run. */
  readonly loop: () => IngressLoop | undefined;
  /** The proxy can reach the pod, if it lives. */
  readonly isReachable: (record: PodRecord) => boolean;
  /** Since when nothing disturbs what Lockstep hears of a cluster; infinite while something does. */
  readonly quietSinceMs: (cluster: string) => number;
  /** Since when nothing but what it hears of pods is disturbed; infinite while that is not so. */
  readonly onlyPodsSinceMs: (cluster: string) => number;
  /** Since when the pod watch of a cluster has been fresh, by its own word; infinite while not. */
  readonly freshSinceMs: (cluster: string) => number;
}

export interface SoakRequest {
  readonly service: string;
  readonly target: string;
  readonly sentMs: number;
  /** The uids of endpoints that Lockstep knew when it was sent, and that would have answered. */
  readonly ableBefore: ReadonlySet<string>;
}

/** Some messages of the network, a decision and a push: what a leave takes from API to proxy. */
export const heardMs = 50;

/** After a disturbance: the longest pause of a watch that failed, a list, and the look at it. */
export const recoveredMs = backoffMaxMs + 10_000 + freshnessCheckMs;

/** What holds an endpoint that nobody but a probe can judge: two misses, and the wait between. */
const probedMs = 2 * (probeTimeoutMs + probeEveryMs);

/** A failed connection is believed for as long (proxy/lua/lockstep/suspects.lua). */
const suspectMs = 10_000;

/** As often is one request tried (proxy/nginx.conf). */
const mostTries = 3;

/** What leaves within so long leaves at once. */
const togetherMs = 5_000;

export class SoakJudge {
  readonly #facts: SoakFacts;
  readonly violations: string[] = [];
  /** By target, in order. */
  readonly #tries = new Map<string, string[]>();
  /** By service and address, when a connection last failed; forgotten when one succeeds. */
  readonly #failedMs = new Map<string, number>();
  #forgotMs = 0;
  /** By service, when its truth last changed. */
  readonly #decidedMs = new Map<string, number>();
  /** By uid, when Lockstep ceased to route to it. */
  readonly #leftMs = new Map<string, number>();
  /** The uids of pods that the slices have called ready, as far as Lockstep has heard. */
  readonly #published = new Set<string>();
  counts = { tries: 0, unreached: 0, answers: new Map<string, number>() };

  constructor(facts: SoakFacts) {
    this.#facts = facts;
  }

  request(service: string, target: string): SoakRequest {
    const sentMs = this.#facts.now();
    const ableBefore = new Set(this.#able(service).map(({ uid }) => uid));
    return { service, target, sentMs, ableBefore };
  }

  tried(service: string, target: string, address: string): void {
    this.counts.tries += 1;
    const tries = this.#tries.get(target) ?? [];
    this.#judgeSuspect(service, tries, address);
    this.#judgeDead(service, tries, address);
    this.#judgeOwner(service, address);
    this.#tries.set(target, [...tries, address]);
  }

  connected(service: string, address: string): void {
    this.#failedMs.delete(`${service} ${address}`);
  }

  /** Of a try that began before the proxy was told everything anew, nobody will know. */
  unreached(service: string, address: string, triedMs: number): void {
    this.counts.unreached += 1;
    if (triedMs < this.#forgotMs) return;
    this.#failedMs.set(`${service} ${address}`, this.#facts.now());
  }

  /** Whoever begins anew has no suspects. */
  forgotSuspects(): void {
    this.#failedMs.clear();
    this.#forgotMs = this.#facts.now();
  }

  answered(request: SoakRequest, status: string): void {
    const { service, target } = request;
    this.counts.answers.set(status, (this.counts.answers.get(status) ?? 0) + 1);
    if (status === "200") return;
    if (status === "404") this.#fail(`${service} has lost its route`);
    const able = this.#able(service).filter(({ uid }) => request.ableBefore.has(uid));
    const tries = this.#tries.get(target) ?? [];
    const untried = able.filter(({ address }) => !tries.includes(address));
    if (able.length === 0 || (tries.length >= mostTries && untried.length === able.length)) return;
    const names = able.map(({ name }) => name).join(", ");
    this.#fail(`${service} answered ${status} after [${tries.join()}] while ${names} could serve`);
  }

  /** Called with every new truth of a service. */
  decided(service: string, before: readonly Row[], after: readonly Row[]): void {
    const nowMs = this.#facts.now();
    this.#decidedMs.set(service, nowMs);
    const taken = new Set(after.filter(({ state }) => state !== "out").map((row) => row.address));
    // Who comes, or comes back, begins anew; but not because an earlier pod of its address is out.
    for (const { state, address, podUid } of after) {
      const isNew = !before.some(
        (row) => row.podUid === podUid && row.address === address && row.state !== "out",
      );
      const isForgotten = state === "out" ? !taken.has(address) : isNew;
      if (isForgotten) this.#failedMs.delete(`${service} ${address}`);
    }
    for (const { podUid = "", state, published } of after) {
      if (published === "ready") this.#published.add(podUid);
      const wasRouted = before.some((row) => row.podUid === podUid && isRoutedRow(row));
      if (isRoutedRow({ state })) this.#leftMs.delete(podUid);
      else if (wasRouted) this.#leftMs.set(podUid, nowMs);
    }
    // A watch that comes back tells what happened meanwhile in one go: what counts is its end.
    this.#facts.later(heardMs, () => this.#judgeEachCluster(service));
  }

  #judgeEachCluster(service: string): void {
    const rows = this.#rows(service);
    for (const cluster of new Set(rows.map((row) => row.cluster))) {
      const own = rows.filter((row) => row.cluster === cluster);
      this.#judgeMass(service, own);
    }
  }

  /** Of the endpoints of a service in one cluster, most are out because its pod watch says so. */
  #judgeMass(service: string, rows: readonly Row[]): void {
    const nowMs = this.#facts.now();
    const dropped = rows.filter(({ podUid = "", state, pod, published }) => {
      const { sinceMs = 0 } = this.#facts.recordOf(podUid) ?? {};
      return (
        state === "out" &&
        pod === "not ready" &&
        published === "ready" &&
        nowMs - (this.#leftMs.get(podUid) ?? 0) < togetherMs &&
        nowMs - sinceMs < togetherMs &&
        this.#lives(podUid)
      );
    });
    const staying = rows.filter(({ state }) => state !== "out").length;
    if (dropped.length <= 1 || dropped.length <= staying) return;
    const names = dropped.map(({ podName }) => podName).join(", ");
    this.#fail(`${service} lost ${names} at once, all alive, on one witness`);
  }

  /** A connection failed a moment ago: others are tried first. */
  #judgeSuspect(service: string, tries: readonly string[], address: string): void {
    const { now } = this.#facts;
    const failedMs = this.#failedMs.get(`${service} ${address}`);
    if (failedMs === undefined || now() - failedMs >= suspectMs) return;
    const better = this.#better(service, tries, address, isRoutedRow);
    if (better.length === 0) return;
    this.#fail(
      `${service} tried ${address}, which failed ${Math.round(now() - failedMs)} ms ago, ` +
        `before ${better.join()}`,
    );
  }

  #judgeDead(service: string, tries: readonly string[], address: string): void {
    const { ledger, recordOf, now } = this.#facts;
    const loop = this.#facts.loop();
    const owner = ledger.ownerAt(address, monotonic(now()));
    if (owner !== undefined && recordOf(owner)?.service === service) return;
    const spell = ledger
      .spells(address)
      .findLast(({ podUid }) => recordOf(podUid)?.service === service);
    const record = spell && recordOf(spell.podUid);
    if (spell === undefined || record === undefined) {
      this.#fail(`${service} tried ${address}, where it never had a pod`);
      return;
    }
    if (loop === undefined || !loop.isReady) return;
    const row = loop.decisions.truths
      .get(keyOf(service))
      ?.truth.endpoints.find(({ podUid }) => podUid === record.uid);
    const boundMs = row?.state === "held" ? probedMs : heardMs;
    const knownMs = Math.min(
      this.#toldMs(record),
      this.#heardMs(record),
      this.#publishedMs(record),
    );
    const sinceMs = Math.max(Number(spell.until), knownMs);
    if (now() - sinceMs <= boundMs) return;
    if (this.#better(service, tries, address, isOwnRight).length === 0) return;
    const state = row === undefined ? "not in the table" : `${row.state}: ${row.reason}`;
    this.#fail(
      `${service} tried ${record.name} at ${address}, dead for ` +
        `${Math.round(now() - Number(spell.until))} ms and known to leave for ` +
        `${Math.round(now() - knownMs)} ms (${state})`,
    );
  }

  /** A pod of another service has the address: whoever asks there gets the wrong program's answer. */
  #judgeOwner(service: string, address: string): void {
    const { ledger, recordOf, freshSinceMs, now, loop } = this.#facts;
    const owner = recordOf(ledger.ownerAt(address, monotonic(now())) ?? "");
    if (owner === undefined || owner.service === service || !loop()?.isReady) return;
    const heard = this.#podHeardOf(owner);
    const isOwner = heard?.pod.podIP === address && heard.pod.ready === "True";
    if (!isOwner || heard.pod.metadata.deletionTimestamp !== undefined) return;
    // When a pod got ready is known to the second: of two of the same second nobody knows the later.
    const { containersReadyTransitionTime: readyAt } = heard.pod;
    const rivals = this.#rows(service).filter((row) => row.address === address);
    if (rivals.some(({ podUid = "" }) => this.#readyAt(podUid) === readyAt)) return;
    const knownMs = Math.max(heard.atMs, freshSinceMs(owner.cluster) + 2 * freshnessCheckMs);
    if (now() - knownMs <= heardMs) return;
    const sinceMs = Math.round(now() - knownMs);
    this.#fail(`${service} tried ${address}, known as that of ${owner.name} for ${sinceMs} ms`);
  }

  /**
   * When the slices, heard well while nothing is heard of pods, ceased to call the pod ready. Those of
   * a controller that is behind never called it so, or take it for an earlier pod at its address: then
   * they say nothing of it.
   */
  #publishedMs({ cluster, service, address, uid }: PodRecord): number {
    if (!this.#published.has(uid)) return Number.POSITIVE_INFINITY;
    const source = this.#facts.loop()?.sources.find((one) => one.cluster === cluster);
    const slices = source?.publishedOf("default", service).slices ?? [];
    if (source === undefined || slices.length === 0) return Number.POSITIVE_INFINITY;
    const isListed = slices.some(({ endpoints }) =>
      endpoints.some(({ ready, addresses }) => addresses.includes(address) && ready !== false),
    );
    if (isListed) return Number.POSITIVE_INFINITY;
    const seenMs = slices.map((slice) => Number(source.seenAtMs(slice)));
    return Math.max(...seenMs, this.#facts.onlyPodsSinceMs(cluster) + recoveredMs);
  }

  /** When Lockstep should have learnt from the API that the pod leaves, however it listens. */
  #toldMs({ standing, sinceMs, cluster }: PodRecord): number {
    if (standing !== "leaving") return Number.POSITIVE_INFINITY;
    return Math.max(sinceMs, this.#inStepMs(cluster));
  }

  /** From when on Lockstep hears at once what the API of a cluster says; infinite while it may not. */
  #inStepMs(cluster: string): number {
    return this.#facts.quietSinceMs(cluster) + recoveredMs;
  }

  /** When Lockstep's own pod watch, being fresh, said so. */
  #heardMs(record: PodRecord): number {
    const { loop, freshSinceMs } = this.#facts;
    const { cluster, uid } = record;
    const source = loop()?.sources.find((one) => one.cluster === cluster);
    if (source === undefined) return Number.POSITIVE_INFINITY;
    const heard = this.#podHeardOf(record);
    const isLeaving =
      heard !== undefined &&
      (heard.pod.metadata.deletionTimestamp !== undefined ||
        (heard.pod.ready !== "True" && heard.pod.containersReady !== "True"));
    const heardAt = source.departed(uid)?.atMs ?? (isLeaving ? heard.atMs : undefined);
    if (heardAt === undefined) return Number.POSITIVE_INFINITY;
    return Math.max(Number(heardAt), freshSinceMs(cluster) + 2 * freshnessCheckMs);
  }

  /** Endpoints that live, that the proxy knows, and that this request has not tried. */
  #better(
    service: string,
    tries: readonly string[],
    address: string,
    chosen: (row: Row) => boolean,
  ): readonly string[] {
    const nowMs = this.#facts.now();
    // The proxy may not have the newest yet.
    if (nowMs - (this.#decidedMs.get(service) ?? 0) < heardMs) return [];
    return this.#living(service, chosen)
      .map((record) => record.address)
      .filter((other) => other !== address && !tries.includes(other))
      .filter((other) => {
        const failedMs = this.#failedMs.get(`${service} ${other}`) ?? -suspectMs;
        return nowMs - failedMs >= suspectMs;
      });
  }

  /**
   * Pods that would answer and of which Lockstep has heard nothing else, whatever it made of it. Of a
   * cluster that is heard of for the first time nothing is decided before its watches are looked at.
   */
  #able(service: string): readonly PodRecord[] {
    return this.#facts
      .recordsOf(service)
      .filter(({ uid }) => this.#lives(uid))
      .filter((record) => {
        const { isServing, standing, sinceMs, cluster } = record;
        const nowMs = this.#facts.now();
        const told = Math.max(sinceMs, this.#inStepMs(cluster));
        if (!isServing) return standing === "doubtful" && nowMs - told > heardMs;
        const heard = this.#podHeardOf(record);
        return heard?.pod.ready === "True" && nowMs - heard.atMs > freshnessCheckMs + heardMs;
      });
  }

  #readyAt(podUid: string): number | undefined {
    const record = this.#facts.recordOf(podUid);
    return record && this.#podHeardOf(record)?.pod.containersReadyTransitionTime;
  }

  /** What Lockstep's pod watch says of it, and since when it and its service are known. */
  #podHeardOf(record: PodRecord): { pod: Pod; atMs: number } | undefined {
    const { cluster, uid, name } = record;
    const source = this.#facts.loop()?.sources.find((one) => one.cluster === cluster);
    const pod = source?.pod("default", name);
    const service = source?.service("default", record.service);
    if (source === undefined || service === undefined || pod?.metadata.uid !== uid) {
      return undefined;
    }
    const seenMs = [pod, service].map((one) => Number(source.seenAtMs(one)));
    return { pod, atMs: Math.max(...seenMs) };
  }

  /** The truth table of a service as it stands. */
  #rows(service: string): readonly Row[] {
    return this.#facts.loop()?.decisions.truths.get(keyOf(service))?.truth.endpoints ?? [];
  }

  /** Endpoints among those chosen of the table that would answer. */
  #living(service: string, chosen: (row: Row) => boolean): readonly PodRecord[] {
    return this.#rows(service)
      .filter(chosen)
      .flatMap(({ podUid = "" }) => {
        const record = this.#facts.recordOf(podUid);
        return record !== undefined && this.#lives(podUid) ? [record] : [];
      });
  }

  #lives(uid: string): boolean {
    const { ledger, recordOf, isReachable, now } = this.#facts;
    const record = recordOf(uid);
    if (record === undefined || !isReachable(record)) return false;
    return ledger.ownerAt(record.address, monotonic(now())) === uid;
  }

  #fail(what: string): void {
    this.violations.push(`${this.#facts.now().toFixed(0)} ms: ${what}`);
  }
}

export interface Row {
  readonly cluster: string;
  readonly podUid?: string;
  readonly podName?: string;
  readonly address: string;
  readonly state: string;
  readonly rule: string;
  readonly pod: string;
  readonly published: string;
}

export function keyOf(service: string): string {
  return `default/${service}:80`;
}

function isRoutedRow({ state }: { readonly state: string }): boolean {
  return state === "active" || state === "held";
}

/** Routed to, and not because nothing is better. */
function isOwnRight(row: Row): boolean {
  return isRoutedRow(row) && row.rule !== "never empty";
}

/** Virtual time is one for all machines. */
function monotonic(ms: number): MonotonicMs {
  return ms as MonotonicMs;
}
