// What a set of kept journeys amounts to: how many, how they ended, and the lags at each hop. It
// keeps figures, not journeys, so a history of any size is summed up in little memory.

import { isFirstReported } from "../../../timeline/first-reported.ts";
import type { Journey, Outcome } from "../../../timeline/journey.ts";
import { p99Of } from "../../../timeline/percentile.ts";
import { type Direction, type Hop, hops } from "../../../timeline/witness.ts";
import { counted } from "../../terminal/counted.ts";
import type { Paint } from "../../terminal/paint.ts";
import { rightText } from "../../terminal/text-columns.ts";
import { numberText } from "../../terminal/value-text.ts";
import { directionNameColumns, directionNames } from "../watch/direction-names.ts";
import { lagCell, paintTone, unknownSign } from "../watch/hop-cell.ts";
import { LagFigures } from "../watch/lag-figures.ts";
import { measuredLagMs } from "../watch/watch-tally.ts";

const directions: readonly Direction[] = ["leave", "join"];

const hopColumns = 9;
const countColumns = 9;
const figureColumns = 8;

/** Both directions beside each other need so much; below each other the name has more. */
const besideColumns = hopColumns + 2 * (countColumns + 3 * figureColumns);
const belowColumns = hopColumns + 1 + directionNameColumns;

export interface KeptTableOptions {
  readonly width: number;
  readonly slowMs: number;
  readonly paint: Paint;
}

const endings: readonly (readonly [Outcome, string])[] = [
  ["superseded", "replaced by the opposite change"],
  ["withdrawn", "withdrawn"],
  ["abandoned", "abandoned after hours"],
  ["dropped", "dropped (too many in flight)"],
  ["pending", "in flight"],
  ["unknown", "unknown (the observer ended first)"],
];

export class KeptTally {
  #count = 0;
  #neverShown = 0;
  readonly #outcomes = new Map<Outcome, number>();
  readonly #lags = new Map<string, LagFigures>();
  readonly #witnessed = new Set<Hop>();
  readonly #clusters = new Set<string>();

  get count(): number {
    return this.#count;
  }

  get clusters(): readonly string[] {
    return [...this.#clusters];
  }

  isWitnessed(hop: Hop): boolean {
    return this.#witnessed.has(hop);
  }

  add(journey: Journey): void {
    this.#count += 1;
    this.#outcomes.set(journey.outcome, (this.#outcomes.get(journey.outcome) ?? 0) + 1);
    this.#clusters.add(journey.endpoint.cluster ?? unknownSign);
    if (journey.hops.some(({ state }) => state.type === "stuck")) this.#neverShown += 1;
    for (const one of journey.hops) {
      this.#witnessed.add(one.hop);
      const lagMs = isFirstReported(journey, one) ? undefined : measuredLagMs(one.state);
      if (lagMs !== undefined) this.#figures(one.hop, journey.direction).add(lagMs);
    }
  }

  /** `214 changes in the last 1h, 3 stuck and not shown yet, 2 superseded by …`. */
  sentence(when: string): string {
    const parts = [
      `${counted(this.#count, "change")} ${when}`,
      ...(this.#neverShown === 0 ? [] : [`${numberText(this.#neverShown)} stuck`]),
      ...endings.flatMap(([outcome, words]) => {
        const count = this.#outcomes.get(outcome);
        return count === undefined ? [] : [`${numberText(count)} ${words}`];
      }),
    ];
    return `${parts.join(", ")}.`;
  }

  /** A row for each hop that anybody reports, leaves beside joins, or below them in few columns. */
  table(options: KeptTableOptions): readonly string[] {
    const { secondary } = options.paint;
    const names = ["p50", "p99", "max"].map((name) => rightText(name, figureColumns)).join("");
    const shown = hops.filter((hop) => this.isWitnessed(hop));
    if (options.width >= besideColumns) {
      const head = directions.map(
        (direction) => rightText(directionNames[direction], countColumns) + names,
      );
      return [
        secondary("hop".padEnd(hopColumns) + head.join("")),
        ...shown.map((hop) => {
          const figures = directions.map((direction) => this.#cells(hop, direction, options));
          return hop.padEnd(hopColumns) + figures.join("");
        }),
      ];
    }
    return [
      secondary("hop".padEnd(belowColumns) + rightText("changes", countColumns) + names),
      ...shown.flatMap((hop) =>
        directions.map(
          (direction) =>
            `${hop.padEnd(hopColumns)} ${directionNames[direction]}`.padEnd(belowColumns) +
            this.#cells(hop, direction, options),
        ),
      ),
    ];
  }

  #cells(hop: Hop, direction: Direction, { slowMs, paint }: KeptTableOptions): string {
    const lags = this.#lags.get(`${hop} ${direction}`);
    // The first request to an address that joined comes when somebody asks.
    const isAsked = hop === "traffic" && direction === "join";
    const slowFrom = { slowMs: isAsked ? Number.POSITIVE_INFINITY : slowMs };
    const cells = [lags?.quantileMs(0.5), lags && p99Of(lags), lags?.maxMs].map((value) => {
      if (value === undefined) return paint.secondary(rightText("–", figureColumns));
      const { text, tone } = lagCell(value, slowFrom);
      return paintTone(paint, tone)(rightText(text, figureColumns));
    });
    return rightText(numberText(lags?.count ?? 0), countColumns) + cells.join("");
  }

  #figures(hop: Hop, direction: Direction): LagFigures {
    const key = `${hop} ${direction}`;
    const figures = this.#lags.get(key) ?? new LagFigures();
    this.#lags.set(key, figures);
    return figures;
  }
}
