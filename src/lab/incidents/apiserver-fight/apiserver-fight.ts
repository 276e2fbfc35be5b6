// The incident `apiserver-fight`: four API servers run without --apiserver-count, so each of them
// puts itself alone on the list of the service `kubernetes`, every ten seconds, for ever. Whoever
// reaches them through the service hears of releases minutes late, each replica by another amount.
// The write-up does not prove what froze the watches, so both ways that fit are played.
import { durationText } from "../../../environment/duration-text.ts";
import {
  keepAlivePatienceMs,
  retransmissionPatienceMs,
} from "../../service-path/kernel-patience.ts";
import type { Incident, IncidentFindings, TimelineEntry } from "../incident.ts";
import type { OpenStage } from "../stage.ts";
import { fightFigures, fightMeasures, fixedFigures, lateness, latenessFigures } from "./figures.ts";
import { type FightRun, type FightSettings, playFight } from "./play.ts";

export interface ApiserverFightOptions {
  readonly fix?: boolean;
  /** What differs from the write-up's cluster. */
  readonly settings?: Partial<FightSettings>;
}

/** As in the write-up, by its log lines a 1.9 or 1.10; neither set the count nor the reconciler. */
const usual: FightSettings = {
  servers: 4,
  profile: "1.9",
  mechanism: "cut-off",
  silence: { minMs: keepAlivePatienceMs, maxMs: retransmissionPatienceMs },
  releases: 2,
  pauseMs: 180_000,
};

/** In real time nobody waits for a kernel. */
const liveSettings: Partial<FightSettings> = {
  silence: { minMs: 15_000, maxMs: 45_000 },
  releases: 1,
  pauseMs: 40_000,
};

export const apiserverFight: Incident = {
  name: "apiserver-fight",
  summary:
    "after a release nginx keeps the addresses of deleted pods for up to ten minutes, " +
    "each of three replicas for a different time",
  cause:
    "several API servers without --apiserver-count; every ten seconds each server makes its own " +
    "address the only one of the kubernetes service, and watches through it stop without an error",
  fix: "one API server, or the correct --apiserver-count, or --endpoint-reconciler-type=lease",
  play: (open, { fix }) => playApiserverFight(open, { fix }),
};

export function playApiserverFight(
  open: OpenStage,
  { fix = false, settings = {} }: ApiserverFightOptions,
): Promise<IncidentFindings> {
  const run = (own: Partial<FightSettings>): Promise<FightRun> =>
    open((stage) => {
      const pace = stage.mode === "live" ? liveSettings : {};
      return playFight(stage, { ...usual, ...pace, ...settings, ...own });
    });
  return fix ? playFixed(run, settings.servers ?? usual.servers) : playFights(run);
}

type Run = (own: Partial<FightSettings>) => Promise<FightRun>;

/**
 * A lag ends with the watch that has it, after five to ten minutes or a multiple: one release shows
 * the second way, and in real time it is left out.
 */
async function playFights(run: Run): Promise<IncidentFindings> {
  const cutOff = await run({ mechanism: "cut-off" });
  if (cutOff.mode === "live") return findingsOf(cutOff);
  const lagging = await run({ mechanism: "lagging-cache", releases: 1 });
  const findings = findingsOf(cutOff);
  return {
    ...findings,
    timeline: [...cutOff.timeline, ...again("with a lagging watch cache", lagging.timeline)],
    figures: [...findings.figures, ...latenessFigures(lagging)],
    measures: fightMeasures([cutOff, lagging]),
    fitted: [
      ...findings.fitted,
      "two possible mechanisms, replayed one after the other; the report does not name one",
      "lagging cache: all three replicas watch the server that lags. A watch that ends may " +
        "reconnect to it and lag again, so 10 min is not an upper bound",
    ],
  };
}

function findingsOf(cutOff: FightRun): IncidentFindings {
  const { timeline, series } = cutOff;
  const figures = [...fightFigures(cutOff), ...latenessFigures(cutOff)];
  return {
    timeline,
    figures,
    measures: fightMeasures([cutOff]),
    series,
    fitted: fittedIn(cutOff),
  };
}

async function playFixed(run: Run, servers: number): Promise<IncidentFindings> {
  const one = await run({ servers: 1 });
  const counted = await run({ apiserverCount: servers });
  const leases = await run({ reconcilerType: "lease" });
  return {
    timeline: [
      ...one.timeline,
      theSame("with the right count", counted, 2),
      theSame("with leases", leases, 3),
    ],
    figures: [
      ...fixedFigures("one-server", "one server", one),
      ...fixedFigures("right-count", "the right count", counted),
      ...fixedFigures("leases", "leases", leases),
    ],
    measures: fightMeasures([one, counted, leases]),
    series: one.series,
    fitted: ["the count and the leases do not help against a server whose watch cache lags"],
  };
}

/** Once more on a second stage. */
function again(how: string, timeline: readonly TimelineEntry[]): readonly TimelineEntry[] {
  return timeline.map(({ atMs, text }, index) => ({
    stage: 2,
    atMs,
    text: index === 0 ? `again, ${how}: ${text}` : text,
  }));
}

/** A run that went as the one before did is told in a line. */
function theSame(how: string, { journeys, period }: FightRun, stage: number): TimelineEntry {
  const { longestMs = 0, spreadMs = 0 } = lateness(journeys);
  const text =
    `the same ${how}: the releases were late by at most ${durationText(longestMs)} at stock's ` +
    `replicas, which were ${durationText(spreadMs)} apart`;
  return { stage, atMs: period.toMs, text };
}

function fittedIn({ settings: { silence }, mode }: FightRun): readonly string[] {
  const between = ({ minMs, maxMs }: FightSettings["silence"]) =>
    `${durationText(minMs)} to ${durationText(maxMs)}`;
  const bounds =
    mode === "live"
      ? `real kernels take ${between(usual.silence)}`
      : "drawn at random between the kernel's bounds";
  return [
    `a connection cut off by IPVS stays silent for ${between(silence)}, ${bounds}`,
    "connections to a server stay dead after it is listed again; some kernels revive them",
    "every watch has its own connection; with HTTP/2 all watches of a replica would stop together",
  ];
}
