// Judges every try of the proxy, every answer and every decision by the real events (the ledger),
// the API's state (the records) and Lockstep's own knowledge.
import { freshnessCheckMs } from "../../src/sources/cluster-source.ts";
import { probeTimeoutMs } from "../../src/sources/probe-once.ts";
import { probeEveryMs } from "../../src/sources/probes.ts";
import type { PodRecord } from "./pod-records.ts";
import {
  isRoutedRow,
  lives,
  monotonic,
  type Row,
  reactionMs,
  rowsOf,
  type SoakFacts,
} from "./soak-facts.ts";
import { SoakKnowledge } from "./soak-knowledge.ts";
import { SoakMassRemoval } from "./soak-mass-removal.ts";
import { SoakSuspects } from "./soak-suspects.ts";

export interface SoakRequest {
  readonly service: string;
  readonly target: string;
  /** The uids of endpoints that Lockstep knew when it was sent, and that would have answered. */
  readonly ableBefore: ReadonlySet<string>;
}

/** How long an endpoint is held that only a probe can judge: two misses, and the wait between. */
const probedMs = 2 * (probeTimeoutMs + probeEveryMs);

/** As often is one request tried (proxy/nginx.conf). */
const mostTries = 3;

export class SoakJudge {
  readonly #facts: SoakFacts;
  readonly #knowledge: SoakKnowledge;
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
    this.#knowledge = new SoakKnowledge(facts);
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

  probed(address: string): void {
    this.#suspects.probed(address);
  }

  unreached(service: string, address: string, triedMs: number): void {
    this.counts.unreached += 1;
    this.#suspects.unreached(service, address, triedMs);
  }

  /** The proxy gets the whole state again. */
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
    this.#knowledge.decided(after);
    this.#massRemoval.decided(before, after);
    // A watch that comes back delivers all missed events at once: only the final state counts.
    this.#facts.later(reactionMs, () => {
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
    const boundMs = row?.state === "held" ? probedMs : reactionMs;
    const knownMs = this.#knowledge.knownToLeaveMs(record);
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

  /** A pod of another service has the address: a request there gets the wrong program's answer. */
  #judgeOwner(service: string, address: string): void {
    const { ledger, recordOf, freshSinceMs, now, loop } = this.#facts;
    const owner = recordOf(ledger.ownerAt(address, monotonic(now())) ?? "");
    if (owner === undefined || owner.service === service || !loop()?.isReady) return;
    const seen = this.#knowledge.knownPod(owner);
    const isOwner = seen?.pod.podIP === address && seen.pod.ready === "True";
    if (!isOwner || seen.pod.metadata.deletionTimestamp !== undefined) return;
    // The time of readiness has whole seconds: of two pods of the same second, the later one is
    // unknown.
    const { containersReadyTransitionTime: readyAt } = seen.pod;
    const rivals = rowsOf(this.#facts, service).filter((row) => row.address === address);
    if (rivals.some(({ podUid = "" }) => this.#knowledge.readyAt(podUid) === readyAt)) return;
    const knownMs = Math.max(seen.atMs, freshSinceMs(owner.cluster) + 2 * freshnessCheckMs);
    if (now() - knownMs <= reactionMs) return;
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
    if (this.#facts.now() - (this.#decidedMs.get(service) ?? 0) < reactionMs) return [];
    return rowsOf(this.#facts, service)
      .filter(chosen)
      .flatMap(({ podUid = "" }) => {
        const record = this.#facts.recordOf(podUid);
        return record !== undefined && lives(this.#facts, podUid) ? [record.address] : [];
      })
      .filter((other) => other !== address && !tries.includes(other))
      .filter((other) => this.#suspects.longestAgoMs(service, other) === undefined);
  }

  /**
   * Pods that would answer, and about which Lockstep has no contrary information, from pods or from
   * slices alone. For a new cluster nothing is decided before its watches are checked.
   */
  #able(service: string): readonly PodRecord[] {
    return this.#facts
      .recordsOf(service)
      .filter(({ uid }) => lives(this.#facts, uid))
      .filter((record) => {
        const { isServing, standing, sinceMs, cluster } = record;
        const nowMs = this.#facts.now();
        const knownMs = Math.max(sinceMs, this.#knowledge.inStepMs(cluster));
        if (!isServing) return standing === "doubtful" && nowMs - knownMs > reactionMs;
        const { pod, atMs = 0 } = this.#knowledge.knownPod(record) ?? {};
        const seenAt = pod?.ready === "True" ? atMs : this.#knowledge.publishedReadyMs(record);
        return nowMs - seenAt > freshnessCheckMs + reactionMs;
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
