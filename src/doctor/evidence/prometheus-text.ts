// Reads the text that a /metrics endpoint answers with. Comments, types and timestamps are passed
// over, and so is a line that cannot be read: one odd metric must not hide the others.

export interface MetricSample {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

const line = /^([a-zA-Z_:][\w:]*)\s*(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?\s*$/;
const label = /([a-zA-Z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"/g;

/** `wanted` chooses by name, because most of a page is of no interest. */
export function parsePrometheusText(
  text: string,
  wanted: (name: string) => boolean = () => true,
): readonly MetricSample[] {
  return text.split("\n").flatMap((one) => {
    // Before its labels are read: a page of an API server has a hundred thousand lines.
    const [name] = /^[a-zA-Z_:][\w:]*/.exec(one) ?? [];
    if (name === undefined || !wanted(name)) return [];
    return parsePrometheusLine(one) ?? [];
  });
}

/** Undefined for a comment and for a line that cannot be read. */
export function parsePrometheusLine(text: string): MetricSample | undefined {
  if (text === "" || text.startsWith("#")) return undefined;
  const [, name, labels, number] = line.exec(text) ?? [];
  if (name === undefined || number === undefined) return undefined;
  const value = parseNumber(number);
  return value === undefined ? undefined : { name, labels: parseLabels(labels ?? ""), value };
}

function parseLabels(text: string): ReadonlyMap<string, string> {
  const labels = new Map<string, string>();
  for (const [, name, value] of text.matchAll(label)) {
    if (name !== undefined && value !== undefined) labels.set(name, unescaped(value));
  }
  return labels;
}

function unescaped(text: string): string {
  return text.replaceAll(/\\(.)/g, (_all, letter: string) => (letter === "n" ? "\n" : letter));
}

function parseNumber(text: string): number | undefined {
  if (text === "+Inf" || text === "Inf") return Number.POSITIVE_INFINITY;
  if (text === "-Inf") return Number.NEGATIVE_INFINITY;
  if (text === "NaN") return Number.NaN;
  const value = Number(text);
  return Number.isNaN(value) ? undefined : value;
}
