// The figures of the incidents, predicted beside measured: printed as they come, and kept for
// docs/fidelity.md.
import { realVersions } from "../harness/real-binaries.ts";
import { writeRealResult } from "../results.ts";

export interface Experiment {
  readonly incident: string;
  readonly settings: string;
}

/** From and to, when it comes from several runs. */
export type Figure = number | readonly [from: number, to: number];

export class ComparedFigures {
  readonly #rows: string[][] = [];

  /** `lab` is what the lab predicts, `real` what was measured on the real control plane. */
  add({ incident, settings }: Experiment, figure: string, lab: Figure, real: Figure): void {
    this.#rows.push([incident, settings, figure, rounded(lab), rounded(real)]);
    process.stdout.write(
      `${incident} (${settings}): ${figure}: lab ${rounded(lab)}, real ${rounded(real)}\n`,
    );
    this.#write();
  }

  #write(): void {
    const { kubernetes, etcd } = realVersions();
    writeRealResult({
      section: "incidents",
      title: "Incidents: what the lab predicts, what a real control plane does",
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
