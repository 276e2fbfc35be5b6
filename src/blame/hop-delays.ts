// Finds the late hop. The time between the removal of a pod and a later request to it is divided
// among the hops. The hop that took most of the time is the cause. Some instants are known only as
// spans, so every possible order is tried: the most frequent cause wins, and is certain if all
// orders agree. Pure.
import type { Hop } from "../timeline/witness.ts";
import type { Moment } from "./pod-life.ts";
import type { Listing } from "./publications.ts";
import { instantsOf, lengthOf, middleOf, type Span } from "./span.ts";
import type { Cause, HopDelay } from "./verdict.ts";

export interface HopDelaysOptions {
  readonly left: Moment;
  readonly sent: Span;
  /** The pod's cluster; lists of other clusters have copies. */
  readonly cluster: string;
  /** Of the pod's endpoint, in the order in which they began; those that the request may be due to. */
  readonly listings: readonly Listing[];
}

export interface HopBlame {
  readonly cause: Cause;
  /** Causes that the spans also allow; the cause is certain if there are none. */
  readonly alternatives: readonly Cause[];
  readonly hops: readonly HopDelay[];
}

/** A hop that the news passed at some instant, or has not passed as far as is known. */
interface Passing {
  readonly hop: Hop;
  readonly where: string | undefined;
  readonly at: Span | undefined;
}

/** The API shows most things within this; less is not worth a hop of its own. */
const shownAtOnceMs = 1_500;

/** So many instants of a span stand for it; the proxy's, which decides most often, is seen closer. */
const instantsOfSent = 9;
const instantsOfHop = 3;

/** The lists that the proxy may have followed. */
interface FollowedLists {
  readonly own: Listing | undefined;
  /** In an access cluster. */
  readonly copy: Listing | undefined;
}

export function hopDelays(options: HopDelaysOptions): HopBlame {
  const [blame, ...others] = followedLists(options).map((lists) => delaysBy(options, lists));
  if (blame === undefined) return delaysBy(options, { own: undefined, copy: undefined });
  const possible = [blame, ...others].flatMap((one) => [one.cause, ...one.alternatives]);
  const alternatives = [...new Set(possible)].filter((cause) => cause !== blame.cause);
  return { ...blame, alternatives };
}

/** Each service that lists it with each cluster that has a copy: the log may not name it. */
function followedLists({ listings, cluster, sent }: HopDelaysOptions): readonly FollowedLists[] {
  const latestFirst = listings.filter(({ from }) => from.fromMs <= sent.toMs).toReversed();
  return distinct(latestFirst, "service").flatMap(({ service }): readonly FollowedLists[] => {
    const ofService = latestFirst.filter((listing) => listing.service === service);
    const own = ofService.find((listing) => listing.cluster === cluster);
    const copies = ofService.filter((listing) => listing.cluster !== cluster);
    if (copies.length === 0) return [{ own, copy: undefined }];
    return distinct(copies, "cluster").map((copy) => ({ own, copy }));
  });
}

/** The first with each value of the field. */
function distinct(listings: readonly Listing[], field: "service" | "cluster"): readonly Listing[] {
  return listings.filter(
    (one, index) => listings.findIndex((other) => other[field] === one[field]) === index,
  );
}

function delaysBy(options: HopDelaysOptions, { own, copy }: FollowedLists): HopBlame {
  const { left, sent } = options;
  const shown = { fromMs: left.shownMs, toMs: left.shownMs };
  const hasLists = own !== undefined || copy !== undefined;
  const passings: readonly Passing[] = [
    ...(isShownLate(options) ? [{ hop: "pod", where: undefined, at: shown } as const] : []),
    ...(own ? [passingOf("published", own, left)] : []),
    ...(copy ? [passingOf("synced", copy, left)] : []),
    ...(hasLists ? [{ hop: "routed", where: undefined, at: undefined } as const] : []),
  ];
  const hops = delaysOf(left.at, sent, passings);
  if (!hasLists && hops.at(-1)?.isPending !== true)
    return { cause: "stale", alternatives: [], hops };
  const [cause = "stale", ...alternatives] = possibleCauses(left.at, sent, passings);
  return { cause, alternatives, hops };
}

/** News cannot pass before there is any. */
function passingOf(hop: Hop, { cluster, until }: Listing, { at }: Moment): Passing {
  if (until === undefined) return { hop, where: cluster, at: undefined };
  const fromMs = Math.max(until.fromMs, Math.min(at.fromMs, until.toMs));
  return { hop, where: cluster, at: { fromMs, toMs: until.toMs } };
}

/** Before the API shows a crash or a lost node, no controller or proxy can know of it. */
function isShownLate({ left, sent }: HopDelaysOptions): boolean {
  if (left.what === "node lost" || left.shownMs - left.at.toMs > shownAtOnceMs) return true;
  return left.what === "ended" && sent.fromMs < left.shownMs;
}

/** How far the news had come when the request was sent, by the middle of every span. */
function delaysOf(left: Span, sent: Span, passings: readonly Passing[]): readonly HopDelay[] {
  const hops: HopDelay[] = [];
  let since = left;
  for (const { hop, where, at } of passings) {
    const isPending = at === undefined || middleOf(at) > middleOf(sent);
    const shownAfter = at === undefined ? undefined : lengthOf(left, at);
    const took = lengthOf(since, isPending ? sent : at);
    hops.push({ hop, where, took, isPending, shownAfter });
    if (isPending) break;
    if (at.toMs >= since.toMs) since = at;
  }
  return hops;
}

/** The causes that some order of the instants gives, that of most orders first. */
function possibleCauses(left: Span, sent: Span, passings: readonly Passing[]): readonly Cause[] {
  const votes = new Map<Cause, number>();
  const orders = combinations([left, ...passings.map(({ at }) => at)]);
  for (const sentMs of instantsOf(sent, instantsOfSent)) {
    for (const [leftMs = 0, ...passedMs] of orders) {
      // The pod had left: else there would be nothing to blame a hop for.
      if (sentMs < leftMs) continue;
      const cause = causeAt(leftMs, sentMs, passings, passedMs);
      votes.set(cause, (votes.get(cause) ?? 0) + 1);
    }
  }
  const inOrder = passings.map(({ hop }) => causeOf(hop));
  if (votes.size === 0) return inOrder.slice(0, 1);
  return [...votes.keys()].sort(
    (one, other) =>
      (votes.get(other) ?? 0) - (votes.get(one) ?? 0) ||
      inOrder.indexOf(one) - inOrder.indexOf(other),
  );
}

/** An instant of each span, in every way; of what never happened, infinitely late. */
function combinations(spans: readonly (Span | undefined)[]): readonly (readonly number[])[] {
  return spans.reduce<readonly (readonly number[])[]>(
    (chosen, span) => {
      const instants = span === undefined ? [Infinity] : instantsOf(span, instantsOfHop);
      return chosen.flatMap((one) => instants.map((ms) => [...one, ms]));
    },
    [[]],
  );
}

/** The hop that took most, if everything happened exactly then. */
function causeAt(
  leftMs: number,
  sentMs: number,
  passings: readonly Passing[],
  passedMs: readonly number[],
): Cause {
  let worst: { readonly hop: Hop; readonly tookMs: number } | undefined;
  let sinceMs = leftMs;
  for (const [index, { hop }] of passings.entries()) {
    const atMs = passedMs[index] ?? Infinity;
    const tookMs = Math.max(0, Math.min(atMs, sentMs) - sinceMs);
    if (worst === undefined || tookMs > worst.tookMs) worst = { hop, tookMs };
    if (atMs > sentMs) break;
    sinceMs = Math.max(sinceMs, atMs);
  }
  return worst === undefined ? "stale" : causeOf(worst.hop);
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
