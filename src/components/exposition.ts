// The text of a /metrics page as Go's Prometheus client writes it: families by name, labels by name,
// numbers in Go's shortest form. Readers do not care, but what the lab shows should be taken for
// what it stands for.
import type { Registry } from "prom-client";

export async function exposition(registry: Registry): Promise<string> {
  const families: readonly Family[] = await registry.getMetricsAsJSON();
  const sorted = families.toSorted((one, other) => compare(one.name, other.name));
  return sorted.map(familyText).join("");
}

interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: unknown;
  readonly values: readonly Sample[];
}

interface Sample {
  readonly value: number;
  readonly labels: Readonly<Partial<Record<string, string | number>>>;
  readonly metricName?: string;
}

/** Go shows no family of which nothing was ever counted. */
function familyText({ name, help, type, values }: Family): string {
  if (values.length === 0) return "";
  // All of one set of labels stay together, in their order.
  const lines = values
    .map((sample) => ({ sample, series: seriesText(sample.labels) }))
    .toSorted((one, other) => compare(one.series, other.series))
    .map(
      ({ sample: { metricName = name, labels, value } }) =>
        `${metricName}${labelText(labels)} ${goNumber(value)}`,
    );
  return `# HELP ${name} ${help}\n# TYPE ${name} ${String(type)}\n${lines.join("\n")}\n`;
}

function labelText(labels: Sample["labels"]): string {
  const pairs = Object.entries(labels)
    // A bucket's bound and a quantile come last, whatever their name.
    .toSorted(([one], [other]) => rank(one) - rank(other) || compare(one, other))
    .map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

/** The labels without those that distinguish the samples of one series. */
function seriesText({ le: _bound, quantile: _quantile, ...labels }: Sample["labels"]): string {
  return labelText(labels);
}

function rank(label: string): number {
  return label === "le" || label === "quantile" ? 1 : 0;
}

function escaped(value: string | number | undefined): string {
  if (typeof value === "number") return goNumber(value);
  if (value === undefined || !/[\\\n"]/.test(value)) return value ?? "";
  return value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}

/** strconv.FormatFloat with the format g: an exponent below 1e-4 and from 1e+06 on. */
function goNumber(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  const size = Math.abs(value);
  if (size === 0 || (size >= 1e-4 && size < 1e6)) return String(value);
  return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
}

function compare(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
