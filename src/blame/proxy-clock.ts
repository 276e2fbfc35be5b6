// Compares a proxy's clock with the clocks of the clusters, from the proxy's log. No pod answers
// before it exists or after it is gone. If most pods that came or went seem to do so, the log's
// times are off. The first and last answers show by how much. A missing time zone shows in the same
// way.
import type { AccessLogEntry, LoggedTry } from "../access-log/access-log-entry.ts";
import { type PodHistory, placeOf } from "./address-lives.ts";
import type { Evidence } from "./evidence.ts";
import type { Span } from "./span.ts";

export type ProxyClock =
  | { readonly type: "agrees" }
  /** So much is to be added to what the log says. */
  | { readonly type: "off"; readonly by: Span }
  /** They differ by an unknown amount, or the evidence is about other pods. */
  | { readonly type: "doubted" };

/**
 * Times at which the log shows answers and refusals of the only pod that ever had an address, by
 * the log's clock.
 */
interface Contact {
  readonly life: PodHistory;
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
  readonly #contacts = new Map<string, Contact | undefined>();
  #firstMs = Infinity;
  #lastMs = -Infinity;

  constructor(evidence: Evidence) {
    this.#evidence = evidence;
  }

  see(entry: AccessLogEntry): void {
    this.#firstMs = Math.min(this.#firstMs, entry.endedMs);
    this.#lastMs = Math.max(this.#lastMs, entry.endedMs);
    for (const tried of entry.tries) {
      const contact = this.#contactAt(tried.address);
      if (contact !== undefined) note(contact, entry, tried);
    }
  }

  clock(skewMs: number): ProxyClock {
    const contacts = [...this.#contacts.values()].filter((one) => one !== undefined);
    // The most that the clock may be ahead, and behind, from each pod's answers.
    const behind = contacts
      .filter((one) => one.firstAnsweredMs > this.#firstMs + edgeMs)
      .map((one) => one.firstAnsweredMs - appearedMs(one.life));
    const ahead = contacts
      .filter((one) => one.lastAnsweredMs < this.#lastMs - edgeMs)
      .map((one) => goneMs(one.life) - one.lastAnsweredMs);
    const toleranceMs = Math.max(skewMs, resolutionMs);
    if (!areMostBelow(behind, -toleranceMs) && !areMostBelow(ahead, -toleranceMs)) {
      return { type: "agrees" };
    }
    const toMs = secondLeast(ahead);
    const refusals = contacts.map((one) => leftMs(one.life) - one.firstRefusedMs);
    const fromMs = Math.max(-secondLeast(behind), ...refusals.filter((ms) => ms <= toMs));
    const isKnown = Number.isFinite(fromMs) && Number.isFinite(toMs) && fromMs <= toMs;
    // If the pods were not followed, other pods may have had their addresses before.
    return isKnown && contacts.every(({ life }) => this.#isFollowed(life))
      ? { type: "off", by: { fromMs, toMs } }
      : { type: "doubted" };
  }

  #isFollowed(life: PodHistory): boolean {
    return this.#evidence.isRecorded(placeOf(life));
  }

  #contactAt(address: string): Contact | undefined {
    if (this.#contacts.has(address)) return this.#contacts.get(address);
    const life = this.#evidence.lives.onlyAt(address);
    if (life === undefined) return undefined;
    const never = {
      firstAnsweredMs: Infinity,
      lastAnsweredMs: -Infinity,
      firstRefusedMs: Infinity,
    };
    const contact = life.facts.hostNetwork ? undefined : { life, ...never };
    this.#contacts.set(address, contact);
    return contact;
  }
}

/** It was answered at some time between its sending and its end: each bound takes the safe side. */
function note(
  contact: Contact,
  entry: AccessLogEntry,
  { status, durationMs, answered }: LoggedTry,
): void {
  const sentMs = entry.endedMs - (entry.durationMs ?? durationMs ?? 0);
  if (answered === true || (status !== undefined && status < 500 && status !== clientGone)) {
    const overMs = entry.endedMs + entry.resolutionMs;
    contact.firstAnsweredMs = Math.min(contact.firstAnsweredMs, overMs);
    contact.lastAnsweredMs = Math.max(contact.lastAnsweredMs, sentMs);
  } else if ((durationMs ?? atOnceMs) < atOnceMs) {
    contact.firstRefusedMs = Math.min(contact.firstRefusedMs, sentMs);
  }
}

const clientGone = 499;

function appearedMs({ moments }: PodHistory): number {
  return moments.find(({ what }) => what === "appeared")?.at.fromMs ?? -Infinity;
}

function goneMs({ moments }: PodHistory): number {
  return moments.find(({ what }) => what === "deleted")?.at.toMs ?? Infinity;
}

/** Before this it was asked to go; infinitely long ago when it never was. */
function leftMs({ moments }: PodHistory): number {
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
