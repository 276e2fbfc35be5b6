// What `--json` prints: everything that came out of the runs, with the comparisons made, under a
// version that changes when a reader would have to. Pure.
import { allIncidents } from "../../../lab/incidents/all-incidents.ts";
import type { Incident, IncidentResult } from "../../../lab/incidents/incident.ts";
import { compare } from "./comparison.ts";
import { didHold } from "./summary-lines.ts";

/** Fields are added without a new version; none is removed or changes its meaning. */
const documentVersion = 1;

export function reportDocument(results: readonly IncidentResult[]): object {
  return {
    kind: "lockstep-incidents",
    version: documentVersion,
    held: results.every(didHold),
    incidents: results.map((result) => ({
      ...result,
      ...toldOf(allIncidents.find(({ name }) => name === result.name)),
      traceHash: result.traceHash ?? null,
      held: didHold(result),
      figures: result.figures.map((figure) => ({
        ...figure,
        measured: figure.measured ?? null,
        expected: figure.expected.map((one) => {
          const { verdict, text: difference } = compare(figure, one);
          return { ...one, verdict, difference };
        }),
      })),
      measures: result.measures.map((measure) => ({
        ...measure,
        stock: measure.stock ?? null,
        lockstep: measure.lockstep ?? null,
        goal: measure.goal ?? null,
      })),
    })),
  };
}

/** What is known of an incident before it is played. */
export function toldOf(incident: Incident | undefined): object {
  return { summary: incident?.summary, cause: incident?.cause, fix: incident?.fix };
}
