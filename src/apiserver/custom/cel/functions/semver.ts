// Kubernetes' `semver()`: versions in order of precedence, as semver.org has it.
import { define, defineMethod, type Overload } from "../overloads.ts";
import { CelError, OpaqueValue } from "../values.ts";

class Semver extends OpaqueValue {
  readonly typeName = "kubernetes.Semver";
  readonly numbers: readonly bigint[];
  readonly pre: readonly string[];
  readonly build: string;

  constructor(numbers: readonly bigint[], pre: readonly string[], build: string) {
    super();
    this.numbers = numbers;
    this.pre = pre;
    this.build = build;
  }

  equals(other: OpaqueValue): boolean {
    return other instanceof Semver && this.compare(other) === 0;
  }

  compare(other: Semver): number {
    for (const [index, number] of this.numbers.entries()) {
      const difference = number - (other.numbers[index] ?? 0n);
      if (difference !== 0n) return difference < 0n ? -1 : 1;
    }
    return comparePre(this.pre, other.pre);
  }
}

const pattern =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?$/;

export const semvers: readonly Overload[] = [
  define("semver(string) kubernetes.Semver", (text: string) => toSemver(text)),
  define("semver(string, bool) kubernetes.Semver", (text: string, isLoose: boolean) => {
    return toSemver(isLoose ? normalized(text) : text);
  }),
  define("isSemver(string) bool", (text: string) => parse(text) !== undefined),
  define("isSemver(string, bool) bool", (text: string, isLoose: boolean) => {
    return parse(isLoose ? normalized(text) : text) !== undefined;
  }),
  ...["major", "minor", "patch"].map((name, index) =>
    defineMethod(`${name}(kubernetes.Semver) int`, (one: Semver) => one.numbers[index] ?? 0n),
  ),
  defineMethod(
    "compareTo(kubernetes.Semver, kubernetes.Semver) int",
    (one: Semver, other: Semver) => BigInt(one.compare(other)),
  ),
  defineMethod(
    "isGreaterThan(kubernetes.Semver, kubernetes.Semver) bool",
    (one: Semver, other: Semver) => one.compare(other) > 0,
  ),
  defineMethod(
    "isLessThan(kubernetes.Semver, kubernetes.Semver) bool",
    (one: Semver, other: Semver) => one.compare(other) < 0,
  ),
];

function toSemver(text: string): Semver {
  const found = parse(text);
  if (found === undefined) throw new CelError("Semver parse error during conversion from string");
  return found;
}

function parse(text: string): Semver | undefined {
  const found = pattern.exec(text);
  if (found === null) return undefined;
  const [, major = "", minor = "", patch = "", pre, build = ""] = found;
  const parts = pre?.split(".") ?? [];
  if (parts.some((part) => part === "" || /^0\d+$/.test(part))) return undefined;
  return new Semver([major, minor, patch].map(BigInt), parts, build);
}

/** `v1.2` is taken as `1.2.0`, and leading zeros go. */
function normalized(text: string): string {
  const [, numbers = "", rest = ""] = /^v?([\d.]*)(.*)$/s.exec(text.trim()) ?? [];
  const parts = numbers.split(".").map((part) => part.replace(/^0+(?=\d)/, ""));
  while (parts.length < 3) parts.push("0");
  return `${parts.join(".")}${rest}`;
}

/** A version with a pre-release comes before the one without. */
function comparePre(a: readonly string[], b: readonly string[]): number {
  if (a.length === 0 || b.length === 0) return Math.sign(b.length - a.length);
  for (const [index, part] of a.entries()) {
    const other = b[index];
    if (other === undefined) return 1;
    const order = comparePart(part, other);
    if (order !== 0) return order;
  }
  return a.length < b.length ? -1 : 0;
}

function comparePart(a: string, b: string): number {
  if (a === b) return 0;
  const isNumber = (text: string) => /^\d+$/.test(text);
  if (isNumber(a) && isNumber(b)) return BigInt(a) < BigInt(b) ? -1 : 1;
  if (isNumber(a) !== isNumber(b)) return isNumber(a) ? -1 : 1;
  return a < b ? -1 : 1;
}
