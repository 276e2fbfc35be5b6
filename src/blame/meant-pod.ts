// Which pod a proxy meant by an address: addresses pass from pod to pod, hosts lend theirs to many at
// once, and clusters may use the same ones. What the log calls the service decides first, then what
// that service listed, then who had the address last. Where more than one is left, all are returned:
// nobody can tell which it was.
import type { PodLife } from "./address-lives.ts";
import type { Evidence } from "./evidence.ts";
import { standingAt } from "./pod-life.ts";
import type { Listing } from "./publications.ts";
import type { Span } from "./span.ts";

export interface MeantPodOptions {
  readonly evidence: Evidence;
  readonly address: string;
  readonly port: number;
  readonly sent: Span;
  /** `namespace/name`, where the log says. */
  readonly service: string | undefined;
  /** Of the address, in the order in which they began. */
  readonly listings: readonly Listing[];
}

export interface MeantPod {
  readonly life: PodLife;
  /** Who has the address by then, where that is another. */
  readonly successor: PodLife | undefined;
}

/** Empty when no known pod had the address. */
export function meantPods(options: MeantPodOptions): readonly MeantPod[] {
  const { evidence, address, sent, service } = options;
  const had = evidence.lives.at(address, sent);
  const listed = options.listings.filter(({ from }) => from.fromMs <= sent.toMs);
  const named = listed.flatMap(({ podUid }) => lifeOf(evidence, podUid) ?? []);
  const ofService = new Set(service === undefined ? [] : evidence.podsOf(service));
  const clusters = new Set([...had, ...named].map(({ cluster }) => cluster));
  const found = [...clusters].flatMap((cluster) => {
    const here = had.filter((life) => life.cluster === cluster);
    const latest = listed.findLast(({ podUid }) => lifeOf(evidence, podUid)?.cluster === cluster);
    return meantIn(options, here, lifeOf(evidence, latest?.podUid), ofService);
  });
  const meant = found.filter(({ life }) => ofService.has(life));
  return meant.length > 0 ? meant : found;
}

/** In one cluster; `named` is the pod that was listed there last. */
function meantIn(
  { sent, port }: MeantPodOptions,
  had: readonly PodLife[],
  named: PodLife | undefined,
  ofService: ReadonlySet<PodLife>,
): readonly MeantPod[] {
  const own = had.filter((life) => ofService.has(life));
  const pool = own.length > 0 ? own : had;
  const holder = lastHolder(had, sent);
  const asMeant = (life: PodLife): MeantPod => {
    const isOther = holder !== undefined && holder !== life && !life.facts.hostNetwork;
    return { life, successor: isOther ? holder : undefined };
  };
  const last = lastHolder(pool, sent);
  if (named !== undefined) {
    const isMeant = last === undefined || named.facts.hostNetwork || hasLeft(named, sent);
    return [asMeant(isMeant ? named : last)];
  }
  if (last === undefined) return [];
  if (!last.facts.hostNetwork) return [asMeant(last)];
  return sharing(pool, port, sent).map(asMeant);
}

/** The pods on a node's own address of which one may have the port. */
function sharing(pool: readonly PodLife[], port: number, sent: Span): readonly PodLife[] {
  const onPort = pool.filter(({ facts }) => facts.ports.includes(port));
  const last = lastHolder(onPort, sent);
  if (last !== undefined) return [last];
  const there = pool.filter((life) => standingAt(life.moments, sent.fromMs, "to").type !== "left");
  return there.length > 0 ? there : pool.slice(-1);
}

/** The one that got the address last; surely by then, if there is such a one. */
function lastHolder(lives: readonly PodLife[], { toMs }: Span): PodLife | undefined {
  const surely = lives.findLast(({ moments }) =>
    moments.some(({ what, at }) => what === "appeared" && at.toMs <= toMs),
  );
  return surely ?? lives.at(-1);
}

function hasLeft({ moments }: PodLife, { toMs }: Span): boolean {
  return standingAt(moments, toMs, "from").type === "left";
}

function lifeOf({ lives }: Evidence, uid: string | undefined): PodLife | undefined {
  return uid === undefined ? undefined : lives.byUid(uid);
}
