// Whether a proxy's clock agrees with the clusters', seen from its log: no pod answers before it exists
// or after it is gone. Where most that came or went meanwhile seem to, the log's times are off, and by
// how much follows from their first and last answers. A time zone that was left out shows in the same way.
import type { AccessLogEntry, LoggedTry } from "../access-log/access-log-entry.ts";
import { type PodLife, placeOf } from "./address-lives.ts";
import type { Evidence } from "./evidence.ts";
import type { Span } from "./span.ts";

export type ProxyClock =
  | { readonly type: "agrees" }
  /** So much is to be added to what the log says. */
  | { readonly type: "off"; readonly by: Span }
  /** They differ, or the evidence is of other pods; by how much cannot be told. */
  | { readonly type: "doubted" };

/** What the log says of the only pod that ever had an address, by the log's clock. */
interface Heard {
  readonly life: PodLife;
  firstAnsweredMs: number;
  lastAnsweredMs: number;
  firstRefusedMs: number;
}

/** Kubernetes writes whole seconds: less than this proves nothing. */
const resolutionMs = 1_000;

/** A connection that is refused is so at once. */
const atOnceMs = 1_000;

/** A pod whose answers begin or end so near to the log's own begin or end did not do so by itself. */
const edgeMs = 5_000;

/** With so many pods one of them may be odd, such as one that was deleted by force and lives on. */
const podsForDoubt = 3;

export class ProxyClockWitness {
  readonly #evidence: Evidence;
  /** By address; undefined for one that proves nothing. Bounded by the addresses in the evidence. */
  readonly #heard = new Map<string, Heard | undefined>();
  #firstMs = Infinity;
  #lastMs = -Infinity;

  constructor(evidence: Evidence) {
    this.#evidence = evidence;
  }

  see(entry: AccessLogEntry): void {
    this.#firstMs = Math.min(this.#firstMs, entry.endedMs);
    this.#lastMs = Math.max(this.#lastMs, entry.endedMs);
    for (const tried of entry.tries) {
      const heard = this.#heardOf(tried.address);
      if (heard !== undefined) note(heard, entry, tried);
    }
  }

  clock(skewMs: number): ProxyClock {
    const heard = [...this.#heard.values()].filter((one) => one !== undefined);
    // What the clock may be ahead by at the most, and behind, as each pod's answers say.
    const behind = heard
      .filter((one) => one.firstAnsweredMs > this.#firstMs + edgeMs)
      .map((one) => one.firstAnsweredMs - appearedMs(one.life));
    const ahead = heard
      .filter((one) => one.lastAnsweredMs < this.#lastMs - edgeMs)
      .map((one) => goneMs(one.life) - one.lastAnsweredMs);
    const toleranceMs = Math.max(skewMs, resolutionMs);
    if (!areMostBelow(behind, -toleranceMs) && !areMostBelow(ahead, -toleranceMs)) {
      return { type: "agrees" };
    }
    const toMs = secondLeast(ahead);
    const refusals = heard.map((one) => leftMs(one.life) - one.firstRefusedMs);
    const fromMs = Math.max(-secondLeast(behind), ...refusals.filter((ms) => ms <= toMs));
    const isKnown = Number.isFinite(fromMs) && Number.isFinite(toMs) && fromMs <= toMs;
    // Where nobody followed the pods, others may have had their addresses before.
    return isKnown && heard.every(({ life }) => this.#isFollowed(life))
      ? { type: "off", by: { fromMs, toMs } }
      : { type: "doubted" };
  }

  #isFollowed(life: PodLife): boolean {
    return this.#evidence.isRecorded(placeOf(life));
  }

  #heardOf(address: string): Heard | undefined {
    if (this.#heard.has(address)) return this.#heard.get(address);
    const life = this.#evidence.lives.onlyAt(address);
    if (life === undefined) return undefined;
    const never = {
      firstAnsweredMs: Infinity,
      lastAnsweredMs: -Infinity,
      firstRefusedMs: Infinity,
    };
    const heard = life.facts.hostNetwork ? undefined : { life, ...never };
    this.#heard.set(address, heard);
    return heard;
  }
}

/** It was answered at some time between its sending and its end: each bound takes the safe side. */
function note(
  heard: Heard,
  entry: AccessLogEntry,
  { status, durationMs, answered }: LoggedTry,
): void {
  const sentMs = entry.endedMs - (entry.durationMs ?? durationMs ?? 0);
  if (answered === true || (status !== undefined && status < 500 && status !== clientGone)) {
    const overMs = entry.endedMs + entry.resolutionMs;
    heard.firstAnsweredMs = Math.min(heard.firstAnsweredMs, overMs);
    heard.lastAnsweredMs = Math.max(heard.lastAnsweredMs, sentMs);
  } else if ((durationMs ?? atOnceMs) < atOnceMs) {
    heard.firstRefusedMs = Math.min(heard.firstRefusedMs, sentMs);
  }
}

const clientGone = 499;

function appearedMs({ moments }: PodLife): number {
  return moments.find(({ what }) => what === "appeared")?.at.fromMs ?? -Infinity;
}

function goneMs({ moments }: PodLife): number {
  return moments.find(({ what }) => what === "deleted")?.at.toMs ?? Infinity;
}

/** Before this it was asked to go; infinitely long ago when it never was. */
function leftMs({ moments }: PodLife): number {
  const left = moments.find(({ what }) => what === "terminating" || what === "deleted");
  return left?.at.fromMs ?? -Infinity;
}

function areMostBelow(values: readonly number[], limit: number): boolean {
  const known = values.filter(Number.isFinite);
  return known.filter((value) => value < limit).length * 2 > known.length;
}

/** The least of a few, and of many the one after it. */
function secondLeast(values: readonly number[]): number {
  const known = values.filter(Number.isFinite).sort((one, other) => one - other);
  return (known.length < podsForDoubt ? known[0] : known[1]) ?? Infinity;
}
