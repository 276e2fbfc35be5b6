// The figures of the incidents, predicted by the lab beside measured on a real control plane: printed
// as they come, kept for docs/fidelity.md, and compared. Both must agree within a bound that is given
// with each figure.
import { realVersions } from "../harness/real-binaries.ts";
import { writeRealResult } from "../results.ts";

export interface Experiment {
  readonly incident: string;
  readonly settings: string;
}

/** From and to, when it comes from several runs. */
export type Figure = number | readonly [from: number, to: number];

/** Four standard deviations of the difference between two shares of so many trials each. */
export function byChance(share: number, ...trials: readonly number[]): number {
  return 4 * Math.sqrt(trials.reduce((sum, count) => sum + (share * (1 - share)) / count, 0));
}

/** How far the real figure is from the lab's, or from the nearer end of its range. */
export function distance(lab: Figure, real: number): number {
  const [from, to] = typeof lab === "number" ? [lab, lab] : lab;
  return Math.max(from - real, real - to, 0);
}

export class ComparedFigures {
  readonly #rows: string[][] = [];

  /**
   * `lab` is what the lab predicts, `real` what was measured on the real control plane, `apart` how
   * far apart they may be.
   */
  add(
    { incident, settings }: Experiment,
    figure: string,
    lab: Figure,
    real: number,
    apart: number,
  ): void {
    this.#rows.push([incident, settings, figure, rounded(lab), rounded(real)]);
    process.stdout.write(
      `${incident} (${settings}): ${figure}: lab ${rounded(lab)}, real ${rounded(real)}\n`,
    );
    this.#write();
    // Written so that a figure that is no number fails as well.
    if (distance(lab, real) <= apart) return;
    const figures = `lab ${rounded(lab)}, real ${rounded(real)}`;
    throw new Error(`${incident}: ${figure}: ${figures}, further apart than ${rounded(apart)}`);
  }

  #write(): void {
    const { kubernetes, etcd } = realVersions();
    writeRealResult({
      section: "incidents",
      title: "Incidents: predictions of the lab beside a real control plane",
      text:
        "The same experiment, with the same settings, in the lab in virtual time and on a real " +
        "control plane in real time. Only incidents that a control plane of today can show are " +
        "here: the others need versions that are no longer built.",
      facts: { Kubernetes: kubernetes, etcd: etcd },
      columns: ["incident", "settings", "figure", "lab", "real"],
      rows: this.#rows,
    });
  }
}

function rounded(figure: Figure): string {
  if (typeof figure === "number") return String(Number(figure.toPrecision(3)));
  const [from, to] = figure;
  return `${rounded(from)} to ${rounded(to)}`;
}
