// The same question with several values of one setting, each simulated with the same seed. Only the part
// of a prediction that depends on the setting is run.
import type { Input } from "./inputs.ts";
import type { Laboratory } from "./laboratory.ts";
import type { NodePrediction } from "./node-run.ts";
import type { PublishingPrediction } from "./prediction.ts";
import type { Question } from "./question.ts";
import { burstFor } from "./target.ts";

export interface SweepRow {
  readonly value: number;
  readonly question: Question;
  readonly publishing?: PublishingPrediction;
  readonly nodes?: NodePrediction;
}

export interface SweepOptions {
  readonly laboratory: Pick<Laboratory, "publishing" | "nodes">;
  readonly question: Question;
  readonly input: Input;
  readonly values: readonly number[];
  readonly onRow?: (row: SweepRow) => void;
}

/** A range this wide has equal factors; a narrower one, and durations, have equal steps. */
const factorMin = 4;

export async function sweep(options: SweepOptions): Promise<readonly SweepRow[]> {
  const { laboratory, input, values, onRow } = options;
  const rows: SweepRow[] = [];
  for (const value of values) {
    const question = swept(options.question, input, value);
    const row =
      input.concerns === "nodes"
        ? { value, question, nodes: await laboratory.nodes(question) }
        : { value, question, publishing: await laboratory.publishing(question) };
    rows.push(row);
    onRow?.(row);
  }
  return rows;
}

/** Rounded values from one end to the other. */
export function sweepValues(input: Input, from: number, to: number, steps: number): number[] {
  const isGeometric = input.unit !== "duration" && from > 0 && to / from >= factorMin;
  const values = Array.from({ length: steps }, (_, index) => {
    const part = steps === 1 ? 0 : index / (steps - 1);
    const value = isGeometric ? from * (to / from) ** part : from + (to - from) * part;
    return rounded(input, value);
  });
  return [...new Set(values)];
}

/** A higher limit goes with a higher burst, as in the defaults. */
function swept(question: Question, input: Input, value: number): Question {
  const changed = input.with(question, value);
  if (input.key !== "qps") return changed;
  const burst = Math.max(question.settings.burst, burstFor(value));
  return { ...changed, settings: { ...changed.settings, burst } };
}

function rounded({ unit }: Input, value: number): number {
  if (unit === "count") return Math.round(value);
  if (unit === "duration")
    return value >= 1_000 ? Math.round(value / 1_000) * 1_000 : Math.round(value);
  return Number(value.toPrecision(3));
}
