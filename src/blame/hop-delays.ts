// Which hop was late, and by how much: how the time between a pod's leaving and a request that was
// still sent to it divides into the hops that the news had to pass. The hop that took most of it is
// to blame. Pure.
import type { Hop } from "../journeys/witness.ts";
import type { Moment } from "./pod-life.ts";
import type { Listing } from "./publications.ts";
import { lengthOf, middleMs, orderOf, type Span } from "./span.ts";
import type { Cause, HopDelay } from "./verdict.ts";

export interface HopDelaysOptions {
  readonly left: Moment;
  readonly sent: Span;
  /** The pod's cluster; what other clusters list are copies. */
  readonly cluster: string;
  /** Of the pod's endpoint, in the order in which they began; those that the request may be due to. */
  readonly listings: readonly Listing[];
}

export interface HopBlame {
  readonly cause: Cause;
  readonly hops: readonly HopDelay[];
  /** The order of what happened is certain. */
  readonly isCertain: boolean;
}

/** The API shows most things within this; less is not worth a hop of its own. */
const shownAtOnceMs = 1_500;

export function hopDelays(options: HopDelaysOptions): HopBlame {
  const { left, cluster } = options;
  const own = lastListing(options, (listing) => listing.cluster === cluster);
  const copy = lastListing(options, (listing) => listing.cluster !== cluster);
  const walk = new Walk(options);
  if (left.shownMs - left.at.toMs > shownAtOnceMs || left.what === "node lost") {
    walk.shown(left.shownMs);
  }
  walk.listed("published", own);
  walk.listed("synced", copy);
  const hasLists = own !== undefined || copy !== undefined;
  if (hasLists) walk.routed();
  return walk.blame(hasLists);
}

/** Goes from hop to hop and notes how far the news had come when the request was sent. */
class Walk {
  readonly #sent: Span;
  readonly #left: Moment;
  readonly #hops: HopDelay[] = [];
  /** When the hop before showed the change. */
  #since: Span;
  #isPending = false;
  #isCertain = true;

  constructor({ left, sent }: HopDelaysOptions) {
    this.#left = left;
    this.#sent = sent;
    this.#since = left.at;
  }

  shown(shownMs: number): void {
    this.#step("pod", undefined, { fromMs: shownMs, toMs: shownMs });
  }

  listed(hop: Hop, listing: Listing | undefined): void {
    if (listing !== undefined && !this.#isPending) this.#step(hop, listing.cluster, listing.until);
  }

  /** What is left of the time is the proxy's. */
  routed(): void {
    if (!this.#isPending) this.#step("routed", undefined, undefined);
  }

  blame(hasLists: boolean): HopBlame {
    const hops = this.#hops;
    const [first] = hops;
    if (first === undefined || !(hasLists || this.#isPending)) {
      return { cause: "stale", hops, isCertain: this.#isCertain };
    }
    const worst = hops.reduce(
      (one, other) => (middleMs(other.took) > middleMs(one.took) ? other : one),
      first,
    );
    return { cause: causeOf(worst.hop), hops, isCertain: this.#isCertain };
  }

  #step(hop: Hop, where: string | undefined, at: Span | undefined): void {
    const order = at === undefined ? "after" : orderOf(at, this.#sent);
    if (order === "unclear") this.#isCertain = false;
    // Where the order is unclear the request came last: it was sent because of the hop before.
    this.#isPending = at === undefined || at.toMs > this.#sent.toMs;
    const end = at === undefined || this.#isPending ? this.#sent : at;
    this.#hops.push({
      hop,
      where,
      took: lengthOf(this.#since, end),
      isPending: this.#isPending,
      shownAfter: at === undefined ? undefined : lengthOf(this.#left.at, at),
    });
    if (at !== undefined && at.toMs >= this.#since.toMs) this.#since = at;
  }
}

/** The one that was there when the pod left, or the last before. */
function lastListing(
  { listings, sent }: HopDelaysOptions,
  isMeant: (listing: Listing) => boolean,
): Listing | undefined {
  return listings.findLast((listing) => isMeant(listing) && listing.from.fromMs <= sent.toMs);
}

function causeOf(hop: Hop): Cause {
  switch (hop) {
    case "pod":
      return "shown late";
    case "published":
      return "published late";
    case "synced":
      return "synced late";
    case "routed":
    case "traffic":
      return "routed late";
  }
}
