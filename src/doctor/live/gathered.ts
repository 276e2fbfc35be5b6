// Takes what is read from a live cluster, as pieces of named texts. Each piece goes to the readers that
// saved files go to, and to a folder if one is given. So the doctor finds the same in that folder.
import type { RawRecord } from "../../kube/kinds/fields.ts";
import type { Facts } from "../evidence/evidence.ts";
import { metricsTimeLine } from "../evidence/metrics-facts.ts";
import { TextReader } from "../evidence/text-reader.ts";

export interface GatheredOptions {
  readonly facts: Facts;
  /** How evidence names the cluster. */
  readonly cluster: string;
  /** Appends to a file of the cluster's folder: `objects/pods.json`. */
  readonly save?: ((path: string, text: string) => Promise<void>) | undefined;
}

const recordingPath = "changes.recording";

export class Gathered {
  readonly #options: GatheredOptions;
  lines = 0;

  constructor(options: GatheredOptions) {
    this.#options = options;
  }

  get facts(): Facts {
    return this.#options.facts;
  }

  /** A list or an object; a text may have many. */
  async object(path: string, value: RawRecord): Promise<void> {
    const { facts, save } = this.#options;
    facts.objects.add(value, { source: this.#sourceOf(path), line: 0 });
    if (save !== undefined) await save(path, `${JSON.stringify(value, undefined, 1)}\n`);
  }

  /** A whole text. */
  async text(path: string, text: string): Promise<void> {
    const { facts, save } = this.#options;
    const reader = new TextReader(facts, this.#sourceOf(path));
    const lines = text.split("\n");
    if (lines.at(-1) === "") lines.pop();
    for (const line of lines) reader.push(line);
    reader.end();
    this.lines += lines.length;
    if (save !== undefined) await save(path, text.endsWith("\n") ? text : `${text}\n`);
  }

  /** A page of a program in a pod, `kube-controller-manager/POD`; they are numbered from 1. */
  async metrics(
    program: string,
    page: { readonly number: number; readonly atMs: number; readonly text: string },
  ): Promise<void> {
    const { facts, save } = this.#options;
    const { number, atMs, text } = page;
    const path = `metrics/${program}`;
    const [component = ""] = program.split("/");
    facts.metrics.add({ component, process: this.#sourceOf(path), atMs, text });
    const file = `${path}-${number}.txt`;
    if (save !== undefined) await save(file, `${metricsTimeLine(atMs)}\n${text}`);
  }

  /** Further lines of the recording of changes. */
  async recording(lines: readonly string[]): Promise<void> {
    const { save } = this.#options;
    if (save !== undefined && lines.length > 0) await save(recordingPath, `${lines.join("\n")}\n`);
  }

  /** How evidence names the recording. */
  get recordingSource(): string {
    return this.#sourceOf(recordingPath);
  }

  #sourceOf(path: string): string {
    return `${this.#options.cluster}: ${path}`;
  }
}
