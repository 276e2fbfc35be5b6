// The figures of the incidents, predicted beside measured: printed as they come, and kept for
// docs/fidelity.md.
import { realVersions } from "../harness/real-binaries.ts";
import { writeRealResult } from "../results.ts";

export interface ComparedFigure {
  readonly incident: string;
  readonly settings: string;
  readonly figure: string;
  /** Of the lab; from and to, when it was run with several seeds. */
  readonly predicted: number | readonly [from: number, to: number];
  /** On the real control plane. */
  readonly measured: number;
}

export class ComparedFigures {
  readonly #figures: ComparedFigure[] = [];

  add(figure: ComparedFigure): void {
    this.#figures.push(figure);
    const { incident, settings, figure: what, predicted, measured } = figure;
    process.stdout.write(
      `${incident} (${settings}): ${what}: predicted ${rounded(predicted)}, ` +
        `measured ${rounded(measured)}\n`,
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
      rows: this.#figures.map(({ incident, settings, figure, predicted, measured }) => [
        incident,
        settings,
        figure,
        rounded(predicted),
        rounded(measured),
      ]),
    });
  }
}

function rounded(figure: number | readonly [number, number]): string {
  if (typeof figure === "number") return String(Number(figure.toPrecision(3)));
  const [from, to] = figure;
  return `${rounded(from)} to ${rounded(to)}`;
}
