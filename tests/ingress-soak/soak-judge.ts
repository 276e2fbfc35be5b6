// Judges every try of the proxy, every answer and every decision by what was really true (the
// ledger), what the API had said (the records) and what Lockstep itself had heard.
import { freshnessCheckMs } from "../../src/sources/cluster-source.ts";
import { probeTimeoutMs } from "../../src/sources/probe-once.ts";
import { probeEveryMs } from "../../src/sources/probes.ts";
import type { PodRecord } from "./pod-records.ts";
import {
  heardMs,
  isRoutedRow,
  lives,
  monotonic,
  type Row,
  rowsOf,
  type SoakFacts,
} from "./soak-facts.ts";
import { SoakHearing } from "./soak-hearing.ts";
import { SoakMassRemoval } from "./soak-mass-removal.ts";
import { SoakSuspects } from "./soak-suspects.ts";

export interface SoakRequest {
  readonly service: string;
  readonly target: string;
  /** The uids of endpoints that Lockstep knew when it was sent, and that would have answered. */
  readonly ableBefore: ReadonlySet<string>;
}

/** What holds an endpoint that nobody but a probe can judge: two misses, and the wait between. */
const probedMs = 2 * (probeTimeoutMs + probeEveryMs);

/** As often is one request tried (proxy/nginx.conf). */
const mostTries = 3;

export class SoakJudge {
  readonly #facts: SoakFacts;
  readonly #hearing: SoakHearing;
  readonly #suspects: SoakSuspects;
  readonly #massRemoval: SoakMassRemoval;
  readonly violations: string[] = [];
  /** By target, in order. */
  readonly #tries = new Map<string, string[]>();
  /** By service, when its truth last changed. */
  readonly #decidedMs = new Map<string, number>();
  counts = { tries: 0, unreached: 0, answers: new Map<string, number>() };

  constructor(facts: SoakFacts) {
    this.#facts = facts;
    this.#hearing = new SoakHearing(facts);
    this.#suspects = new SoakSuspects(facts.now);
    this.#massRemoval = new SoakMassRemoval(facts);
  }

  request(service: string, target: string): SoakRequest {
    const ableBefore = new Set(this.#able(service).map(({ uid }) => uid));
    return { service, target, ableBefore };
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
    this.#suspects.connected(service, address);
  }

  unreached(service: string, address: string, triedMs: number): void {
    this.counts.unreached += 1;
    this.#suspects.unreached(service, address, triedMs);
  }

  /** The proxy is told everything anew. */
  forgotSuspects(): void {
    this.#suspects.forgetAll();
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
    this.#decidedMs.set(service, this.#facts.now());
    this.#suspects.decided(service, before, after);
    this.#hearing.decided(after);
    this.#massRemoval.decided(before, after);
    // A watch that comes back tells what happened meanwhile in one go: what counts is its end.
    this.#facts.later(heardMs, () => {
      for (const lost of this.#massRemoval.lostAtOnce(service)) {
        const names = lost.map(({ podName }) => podName).join(", ");
        this.#fail(`${service} lost ${names} at once, all alive, on one witness`);
      }
    });
  }

  /** A connection failed a moment ago: others are tried first. */
  #judgeSuspect(service: string, tries: readonly string[], address: string): void {
    const agoMs = this.#suspects.failedAgoMs(service, address);
    if (agoMs === undefined) return;
    const better = this.#better(service, tries, address, isRoutedRow);
    if (better.length === 0) return;
    this.#fail(
      `${service} tried ${address}, which failed ${Math.round(agoMs)} ms ago, ` +
        `before ${better.join()}`,
    );
  }

  #judgeDead(service: string, tries: readonly string[], address: string): void {
    const { ledger, recordOf, now, loop } = this.#facts;
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
    if (!loop()?.isReady) return;
    const row = rowsOf(this.#facts, service).find(({ podUid }) => podUid === record.uid);
    const boundMs = row?.state === "held" ? probedMs : heardMs;
    const knownMs = this.#hearing.knownToLeaveMs(record);
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
    const heard = this.#hearing.podHeardOf(owner);
    const isOwner = heard?.pod.podIP === address && heard.pod.ready === "True";
    if (!isOwner || heard.pod.metadata.deletionTimestamp !== undefined) return;
    // When a pod got ready is known to the second: of two of the same second nobody knows the later.
    const { containersReadyTransitionTime: readyAt } = heard.pod;
    const rivals = rowsOf(this.#facts, service).filter((row) => row.address === address);
    if (rivals.some(({ podUid = "" }) => this.#hearing.readyAt(podUid) === readyAt)) return;
    const knownMs = Math.max(heard.atMs, freshSinceMs(owner.cluster) + 2 * freshnessCheckMs);
    if (now() - knownMs <= heardMs) return;
    const sinceMs = Math.round(now() - knownMs);
    this.#fail(`${service} tried ${address}, known as that of ${owner.name} for ${sinceMs} ms`);
  }

  /** Endpoints among those chosen of the table that live, and that this request has not tried. */
  #better(
    service: string,
    tries: readonly string[],
    address: string,
    chosen: (row: Row) => boolean,
  ): readonly string[] {
    // The proxy may not have the newest yet.
    if (this.#facts.now() - (this.#decidedMs.get(service) ?? 0) < heardMs) return [];
    return rowsOf(this.#facts, service)
      .filter(chosen)
      .flatMap(({ podUid = "" }) => {
        const record = this.#facts.recordOf(podUid);
        return record !== undefined && lives(this.#facts, podUid) ? [record.address] : [];
      })
      .filter((other) => other !== address && !tries.includes(other))
      .filter((other) => this.#suspects.failedAgoMs(service, other) === undefined);
  }

  /**
   * Pods that would answer and of which Lockstep has heard nothing else, be it from slices that alone
   * are heard, whatever it made of it. Of a cluster that is heard of for the first time nothing is decided before its watches are looked at.
   */
  #able(service: string): readonly PodRecord[] {
    return this.#facts
      .recordsOf(service)
      .filter(({ uid }) => lives(this.#facts, uid))
      .filter((record) => {
        const { isServing, standing, sinceMs, cluster } = record;
        const nowMs = this.#facts.now();
        const told = Math.max(sinceMs, this.#hearing.inStepMs(cluster));
        if (!isServing) return standing === "doubtful" && nowMs - told > heardMs;
        const { pod, atMs = 0 } = this.#hearing.podHeardOf(record) ?? {};
        const heardAt = pod?.ready === "True" ? atMs : this.#hearing.publishedReadyMs(record);
        return nowMs - heardAt > freshnessCheckMs + heardMs;
      });
  }

  #fail(what: string): void {
    this.violations.push(`${this.#facts.now().toFixed(0)} ms: ${what}`);
  }
}

/** Routed to, and not because nothing is better. */
function isOwnRight(row: Row): boolean {
  return isRoutedRow(row) && row.rule !== "never empty";
}
