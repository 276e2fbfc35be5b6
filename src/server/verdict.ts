// The one sentence at the top of the page: which hop is late at present, by how much, and the cause if
// the doctor has named it. Pure. The first late hop counts, because a late hop delays those after it.
import { ageText, durationText } from "../environment/duration-text.ts";
import type { Finding, RequestCount, State, Verdict } from "./api.ts";
import type { LatePlace } from "./hop-lags.ts";

export interface Judged {
  readonly clusters: State["clusters"];
  /** In the order of the hops. */
  readonly places: readonly LatePlace[];
  readonly lags: State["lags"];
  readonly requests: readonly RequestCount[];
  readonly findings: readonly Finding[];
  /** Lags at or above this are late. */
  readonly slowMs: number;
}

export function verdictOf(judged: Judged): Verdict {
  const { clusters, places, requests, slowMs } = judged;
  const unwatched = clusters.every(({ state }) => state !== "watching");
  if (unwatched) return { level: "unknown", ...noFinding, ...oneSentence(unknownText(clusters)) };
  const lost = requests.find(({ side, lost: count }) => side === "lockstep" && count > 0);
  const late = firstLate(places, slowMs);
  const finding = findingFor(judged, late);
  const because =
    finding === undefined
      ? noFinding
      : {
          confidence: finding.confidence,
          rule: finding.rule,
          cause: `${finding.cause.replace(/\.$/, "")}.`,
        };
  const cause = because.cause === null ? "" : ` Cause: ${because.cause}`;
  if (lost !== undefined) {
    const headline = `Lockstep lost ${lost.lost} of ${lost.requests} requests.`;
    const text = `${headline}${cause}`;
    return {
      level: "lost",
      ...because,
      late: late === undefined ? null : placeOf(late),
      headline,
      text,
    };
  }
  if (late === undefined) return { level: "ok", ...noFinding, ...oneSentence(okText(judged)) };
  const headline = lateText(late, clusters);
  const text = `${headline}${besides(judged, late)}${cause}`;
  return { level: "late", ...because, late: placeOf(late), headline, text };
}

const noFinding = { confidence: null, rule: null, cause: null } as const;

function oneSentence(text: string): Pick<Verdict, "text" | "headline" | "late"> {
  return { text, headline: text, late: null };
}

function placeOf({ hop, kind, direction, cluster }: LatePlace): NonNullable<Verdict["late"]> {
  return { hop, kind, direction, cluster };
}

function unknownText(clusters: State["clusters"]): string {
  const [first] = clusters;
  if (first === undefined) return "No cluster is watched yet.";
  const { name, state, detail } = first;
  const others = clusters.length === 1 ? "" : ` (and ${clusters.length - 1} more)`;
  return `No cluster is watched at present: ${name} is ${state}${others}${detail === null ? "." : `: ${detail}`}`;
}

/**
 * Changes that wait at present come before those that waited. Of the first late hop the latest cluster
 * counts, and there a removal before an addition: it costs requests.
 */
function firstLate(places: readonly LatePlace[], slowMs: number): LatePlace | undefined {
  const late = places.filter((place) => lateMs(place) >= slowMs && place.kind !== "stock");
  const waiting = late.filter(({ oldestPendingMs }) => (oldestPendingMs ?? 0) >= slowMs);
  const candidates = waiting.length > 0 ? waiting : late;
  const ofHop = candidates.filter(({ hop }) => hop === candidates[0]?.hop);
  const latest = ofHop.reduce<LatePlace | undefined>(
    (most, place) => (most !== undefined && lateMs(most) >= lateMs(place) ? most : place),
    undefined,
  );
  const removal = ofHop.find(({ kind, cluster, direction }) => {
    return direction === "leave" && kind === latest?.kind && cluster === latest.cluster;
  });
  return removal ?? latest;
}

/** How late a change is there now: the median of the last minutes, or the oldest that waits. */
function lateMs({ recent, oldestPendingMs }: LatePlace): number {
  return Math.max(recent.quantileMs(0.5) ?? 0, oldestPendingMs ?? 0);
}

function lateText(late: LatePlace, clusters: State["clusters"]): string {
  const { direction, cluster, recent, oldestPendingMs } = late;
  const isOneOfSeveral = cluster !== null && clusters.length > 1;
  const pods =
    (direction === "leave" ? "Removed pods" : "Added pods") +
    (isOneOfSeveral ? ` of cluster ${cluster}` : "");
  const median = recent.quantileMs(0.5);
  const measured =
    median === undefined ? "" : `after ${durationText(median)} (median of the last 2 minutes)`;
  if (oldestPendingMs === null) {
    return `${pods} ${placeText(late, "past")} late: ${measured}. None waits now.`;
  }
  const oldest = `the oldest one has waited for ${ageText(oldestPendingMs)}`;
  const parts = [measured, oldest].filter((text) => text !== "").join("; ");
  return `${pods} ${placeText(late, "present")} late: ${parts}.`;
}

type Tense = "present" | "past";

function placeText({ hop, kind, direction }: LatePlace, tense: Tense): string {
  const leaves = direction === "leave";
  const [leave, are, get] = { present: ["leave", "are", "get"], past: ["left", "were", "got"] }[
    tense
  ];
  switch (hop) {
    case "pod":
      return `${are} reported by the pod watch`;
    case "published":
      return leaves ? `${leave} the EndpointSlices` : `${are} listed in the EndpointSlices`;
    case "synced":
      return leaves ? `${leave} the copies` : `${are} copied to the access cluster`;
    case "routed":
      return `${leaves ? leave : `${are} used by`} the ${kind === "" ? "" : `${kind} `}proxies`;
    case "traffic":
      return `${get} their ${leaves ? "last" : "first"} request`;
  }
}

/** The lag of Lockstep's own replicas meanwhile, and the losses of the stock model. */
function besides({ places, requests, slowMs }: Judged, late: LatePlace): string {
  const { cluster, direction } = late;
  const own = places.find((place) => {
    const isSame = place.cluster === cluster && place.direction === direction;
    return isSame && place.hop === "routed" && place.kind === "lockstep";
  });
  const median = own?.recent.quantileMs(0.5);
  const isFast = own !== undefined && median !== undefined && lateMs(own) < slowMs;
  const did = direction === "leave" ? "stopped using" : "used";
  const fast = isFast ? ` The Lockstep proxies ${did} them after ${durationText(median)}.` : "";
  const stock = requests.find(({ side, lost }) => side === "stock" && lost > 0);
  const lost =
    stock === undefined
      ? ""
      : ` Stock (model) lost ${stock.lost} of ${stock.requests} requests, Lockstep 0.`;
  return `${fast}${lost}`;
}

function okText({ lags, places, slowMs }: Judged): string {
  const counted = lags.filter(({ hop, kind, count }) => {
    return hop !== "traffic" && hop !== "pod" && kind !== "stock" && count > 0;
  });
  const slowest = counted.reduce<State["lags"][number] | undefined>(
    (most, row) => ((row.maxMs ?? 0) > (most?.maxMs ?? -1) ? row : most),
    undefined,
  );
  if (slowest === undefined) return "No change yet. Every source is read.";
  const maxMs = slowest.maxMs ?? 0;
  const isQuiet = places.every(({ recent }) => recent.count === 0);
  if (maxMs < slowMs) {
    return `No hop is late. Every change of the last hour was visible within ${durationText(maxMs)}.`;
  }
  const now = isQuiet ? "No change in the last 2 minutes." : nowText(places, slowMs);
  return `${now} The slowest change of the last hour took ${durationText(maxMs)}.`;
}

/** The path beside it shows the model, so a sentence without it would contradict the path. */
function nowText(places: readonly LatePlace[], slowMs: number): string {
  const isLate = places.some((place) => place.kind === "stock" && lateMs(place) >= slowMs);
  return isLate
    ? "Only the stock proxies (model) are late at present."
    : "No hop is late at present.";
}

/** The finding about the late hop, or else the worst one; they are sorted so. */
function findingFor({ findings }: Judged, late: LatePlace | undefined): Finding | undefined {
  const serious = findings.filter(
    (finding) => finding.severity !== "info" && canExplain(finding, late),
  );
  return serious.find(({ hop }) => hop === late?.hop) ?? serious[0];
}

/** Up to the EndpointSlices a change depends on its own cluster; copies and proxies on others too. */
function canExplain({ cluster }: Finding, late: LatePlace | undefined): boolean {
  if (late === undefined || late.cluster === null || cluster === null) return true;
  return cluster === late.cluster || (late.hop !== "pod" && late.hop !== "published");
}
