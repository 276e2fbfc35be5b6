// Finds the pod that a proxy meant by an address. Addresses pass from pod to pod, pods share the
// address of their host, and clusters may use the same addresses. The service in the log decides
// first, then the endpoints that this service listed, then the last owner of the address. If
// several pods remain, all are returned.
import type { PodHistory } from "./address-lives.ts";
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
  readonly life: PodHistory;
  /** The pod that has the address by then, if it is another one. */
  readonly successor: PodHistory | undefined;
  /** The pod that had it until recently; a late proxy may have meant that one. */
  readonly predecessor: PodHistory | undefined;
  /** It is no pod of the service that the log names: one that had the address before was meant. */
  readonly isForeign: boolean;
}

/** No proxy is known to have been later than that. */
const lateMostMs = 3_600_000;

const none: ReadonlySet<PodHistory> = new Set();

/** Empty when no known pod had the address. */
export function meantPods(options: MeantPodOptions): readonly MeantPod[] {
  const { evidence, address, sent, service } = options;
  const had = evidence.lives.at(address, sent);
  const listed = options.listings.filter(({ from }) => from.fromMs <= sent.toMs);
  const named = listed.flatMap(({ podUid }) => lifeOf(evidence, podUid) ?? []);
  const ofService = service === undefined ? none : evidence.podsOf(service);
  const clusters = new Set([...had, ...named].map(({ cluster }) => cluster));
  const found = [...clusters].flatMap((cluster) => {
    const here = had.filter((life) => life.cluster === cluster);
    const inLists = listed.filter(({ podUid }) => lifeOf(evidence, podUid)?.cluster === cluster);
    // Two services may list it at the same time, one of them late.
    const now = inLists.filter(({ until }) => (until?.toMs ?? Infinity) > sent.fromMs);
    const uids = new Set((service === undefined ? now : []).map(({ podUid }) => podUid));
    const names = uids.size > 1 ? [...uids] : [inLists.at(-1)?.podUid];
    return names.flatMap((uid) => meantIn(options, here, lifeOf(evidence, uid), ofService));
  });
  const meant = found.filter(({ life }) => ofService.has(life));
  return meant.length > 0 ? meant : found;
}

/** In one cluster; `named` is the pod that was listed there last. */
function meantIn(
  { evidence, sent, port, service }: MeantPodOptions,
  had: readonly PodHistory[],
  named: PodHistory | undefined,
  ofService: ReadonlySet<PodHistory>,
): readonly MeantPod[] {
  const own = had.filter((life) => ofService.has(life));
  const pool = own.length > 0 ? own : had;
  const holder = lastHolder(had, sent);
  const asMeant = (life: PodHistory): MeantPod => {
    const isOther = holder !== undefined && holder !== life && !life.facts.hostNetwork;
    // A list of that service that names it leaves no doubt.
    const rivals =
      service !== undefined && life === named
        ? []
        : had
            .slice(0, Math.max(0, had.indexOf(life)))
            .filter((other) => service === undefined || ofService.has(other));
    const predecessor = life.facts.hostNetwork
      ? undefined
      : rivals.findLast((other) => hadLately(other, sent.fromMs));
    const isForeign =
      service !== undefined &&
      !ofService.has(life) &&
      evidence.services.selector(service, life.cluster) !== undefined;
    return { life, successor: isOther ? holder : undefined, predecessor, isForeign };
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
function sharing(pool: readonly PodHistory[], port: number, sent: Span): readonly PodHistory[] {
  const onPort = pool.filter(({ facts }) => facts.ports.includes(port));
  const last = lastHolder(onPort, sent);
  if (last !== undefined) return [last];
  const there = pool.filter((life) => standingAt(life.moments, sent.fromMs, "to").type !== "left");
  return there.length > 0 ? there : pool.slice(-1);
}

/** The one that got the address last; surely by then, if there is such a one. */
function lastHolder(lives: readonly PodHistory[], { toMs }: Span): PodHistory | undefined {
  const surely = lives.findLast(({ moments }) =>
    moments.some(({ what, at }) => what === "appeared" && at.toMs <= toMs),
  );
  return surely ?? lives.at(-1);
}

function hadLately({ moments }: PodHistory, instantMs: number): boolean {
  const left = standingAt(moments, instantMs, "to");
  return left.type !== "left" || left.by.at.toMs > instantMs - lateMostMs;
}

function hasLeft({ moments }: PodHistory, { toMs }: Span): boolean {
  return standingAt(moments, toMs, "from").type === "left";
}

function lifeOf({ lives }: Evidence, uid: string | undefined): PodHistory | undefined {
  return uid === undefined ? undefined : lives.byUid(uid);
}
