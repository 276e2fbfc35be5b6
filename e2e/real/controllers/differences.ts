// Where two plays of the same histories part: for each namespace the first round after which they
// show something else, with the step that led there and what each side shows.

import type { Played, Scenery } from "./play.ts";
import type { History } from "./scene.ts";

export interface Difference {
  readonly namespace: string;
  readonly round: number;
  /** The steps, from the first on. */
  readonly steps: readonly string[];
  readonly what: "answers" | "objects" | "writes";
  readonly real: readonly string[];
  readonly lab: readonly string[];
}

export function differencesOf(
  histories: readonly History[],
  real: Played,
  lab: Played,
): readonly Difference[] {
  return histories.flatMap((history) => {
    for (const [round, sceneries] of real.slice(0, history.steps.length).entries()) {
      const one = sceneries.get(history.namespace);
      const other = lab[round]?.get(history.namespace);
      if (one === undefined || other === undefined) continue;
      const isCounted = history.steps[round]?.isCounted !== false;
      const difference = differenceOf(one, other, isCounted);
      if (difference === undefined) continue;
      const { namespace, steps } = history;
      const titles = steps.slice(0, round + 1).map(({ title }) => title);
      return [{ namespace, round, steps: titles, ...difference }];
    }
    return [];
  });
}

/** As a reader wants it: the objects only one side has, under the story so far. */
export function inWords(difference: Difference): string {
  const { namespace, round, steps, what, real, lab } = difference;
  const lines = (title: string, texts: readonly string[]) =>
    texts.map((text) => `${title} ${text}`);
  return [
    `${namespace}, round ${round}: ${what} differ`,
    ...steps.map((step, index) => `  ${index}. ${step}`),
    ...lines("  real:", real),
    ...lines("  lab: ", lab),
  ].join("\n");
}

function differenceOf(
  real: Scenery,
  lab: Scenery,
  isCounted: boolean,
): Pick<Difference, "what" | "real" | "lab"> | undefined {
  if (real.answers.join() !== lab.answers.join()) {
    return { what: "answers", real: [real.answers.join()], lab: [lab.answers.join()] };
  }
  const onlyReal = without(real.view, lab.view);
  const onlyLab = without(lab.view, real.view);
  if (onlyReal.length + onlyLab.length > 0) {
    return { what: "objects", real: onlyReal, lab: onlyLab };
  }
  if (isCounted && real.writes !== lab.writes) {
    return { what: "writes", real: [real.writes], lab: [lab.writes] };
  }
  return undefined;
}

/** Those of the first that the second has not, as often as it has not. */
export function without(texts: readonly string[], others: readonly string[]): readonly string[] {
  const left = [...others];
  return texts.filter((text) => {
    const at = left.indexOf(text);
    if (at === -1) return true;
    left.splice(at, 1);
    return false;
  });
}
