// Prints JSON, one object a line: every event, a status every ten seconds, and a summary at the
// end. Fields may be added; existing ones keep their name and meaning.
import type { WallMs } from "../../../environment/clock.ts";
import type { CancelTimer } from "../../../environment/timers.ts";
import type { ClusterStatus } from "../../../observe/cluster-status.ts";
import type { JourneyEvent } from "../../../timeline/journey-event.ts";
import { journeyRecord, type ObserverRun, wallAt } from "../../../timeline/journey-record.ts";
import { recentMs, type ShownLags } from "../../../timeline/lag-figures.ts";
import { type Direction, type Hop, hops } from "../../../timeline/witness.ts";
import { jsonLine } from "../../terminal/json-line.ts";
import type { Picture, WatchOutput, WatchOutputOptions } from "./view.ts";

const statusEveryMs = 10_000;

/** Limits the length of one line. */
const stuckMost = 100;

export class JsonOutput implements WatchOutput {
  readonly #options: WatchOutputOptions;
  /** Does not change when the clock is set. */
  readonly #startedMs: WallMs;
  #cancel: CancelTimer | undefined;
  #isEnded = false;

  constructor(options: WatchOutputOptions) {
    this.#options = options;
    this.#startedMs = options.run.wallMs;
  }

  onEvent(event: JourneyEvent): void {
    if (this.#isEnded) return;
    const { run, clock } = this.#options;
    const journey = journeyRecord(event.journey, run);
    const atMs = wallAt(clock.monotonicMs(), run);
    if (event.type === "over" || event.type === "found") {
      this.#write({ type: event.type, atMs, journey });
      return;
    }
    const { hop, witness } = event.hop;
    this.#write({ type: event.type, atMs, hop, witness, journey });
  }

  start(): void {
    this.#cancel = this.#options.timers.after(statusEveryMs, () => this.start());
    this.#write({ type: "status", ...standing(this.#options.picture(), this.#startedMs) });
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#cancel?.();
    const picture = this.#options.picture();
    const { slowest, inFlight } = picture.tally;
    this.#write({
      type: "summary",
      ...standing(picture, this.#startedMs),
      slowest: slowest.map((journey) => journeyRecord(journey, picture.run)),
      stuck: inFlight.stuckOnes(stuckMost).map((journey) => journeyRecord(journey, picture.run)),
    });
  }

  #write(line: object): void {
    this.#options.terminal.write(`${jsonLine(line)}\n`);
  }
}

function standing(picture: Picture, startedMs: WallMs): object {
  const { tally, now, run, counts, oldest, unknown, notes } = picture;
  const isHidden = ([hop]: readonly [Hop, string]) => !tally.isWitnessed(hop);
  return {
    atMs: wallAt(now, run),
    startedMs,
    changes: tally.changes,
    inFlight: tally.inFlight.size,
    awaitingRequests: tally.inFlight.settled,
    stuckNow: tally.inFlight.stuck,
    everStuck: tally.everStuck,
    slow: tally.slow,
    superseded: tally.outcome("superseded"),
    dropped: tally.outcome("dropped") + counts.dropped,
    inexact: tally.inexact,
    lags: lagRecords((hop, direction) => tally.lags(hop, direction)),
    recentMs,
    recentLags: lagRecords((hop, direction) => tally.recentLags(hop, direction, now)),
    oldest,
    clusters: picture.clusters.map((one) => clusterRecord(one, run)),
    unknown: Object.fromEntries([...unknown].filter(isHidden)),
    notes,
  };
}

/** For each hop and direction with lags. */
function lagRecords(
  lagsAt: (hop: Hop, direction: Direction) => ShownLags | undefined,
): readonly object[] {
  return hops.flatMap((hop) =>
    (["leave", "join"] as const).flatMap((direction) => {
      const lags = lagsAt(hop, direction);
      if (lags === undefined || lags.count === 0) return [];
      const [p50Ms, p99Ms] = [lags.quantileMs(0.5), lags.quantileMs(0.99)];
      return [{ hop, direction, count: lags.count, p50Ms, p99Ms, maxMs: lags.maxMs }];
    }),
  );
}

function clusterRecord({ cluster, state, doubts, lost }: ClusterStatus, run: ObserverRun): object {
  const { type, ...rest } = state;
  const since = "since" in rest ? { since: undefined, sinceMs: wallAt(rest.since, run) } : {};
  return {
    cluster,
    state: type,
    ...rest,
    ...since,
    doubts,
    lost: lost.map(({ sentence }) => sentence),
  };
}
