// Kubernetes' values with an order in CEL: `quantity()` and `semver()`.
import type { CelFunctions } from "./cel-functions.ts";

/** Nine digits after the point: quantities keep no more. */
const scale = 1_000_000_000n;

/** Longer texts are refused: parsing their digits takes more than linear time. */
const amountMaxLength = 1_000;

const quantityPattern =
  /^([+-]?)(\d+(?:\.\d*)?|\.\d+)(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,3}))?$/;
const decimalExponents: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const binaryPowers = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

export class Quantity {
  /** In billionths. */
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }

  get isInteger(): boolean {
    return this.nanos % scale === 0n && this.nanos / scale < 2n ** 63n;
  }

  equals(other: Quantity): boolean {
    return other.nanos === this.nanos;
  }

  compare(other: Quantity): number {
    if (this.nanos === other.nanos) return 0;
    return this.nanos < other.nanos ? -1 : 1;
  }
}

const semverPattern =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/;

export class Semver {
  /** Major, minor, patch. */
  readonly numbers: readonly bigint[];
  readonly pre: readonly string[];

  constructor(numbers: readonly bigint[], pre: readonly string[]) {
    this.numbers = numbers;
    this.pre = pre;
  }

  equals(other: Semver): boolean {
    return this.compare(other) === 0;
  }

  compare(other: Semver): number {
    for (const [index, number] of this.numbers.entries()) {
      const difference = number - (other.numbers[index] ?? 0n);
      if (difference !== 0n) return difference < 0n ? -1 : 1;
    }
    return comparePre(this.pre, other.pre);
  }
}

export const amountFunctions: CelFunctions = {
  "quantity(string): kubernetes.Quantity": toQuantity,
  "isQuantity(string): bool": (text: string) => parseQuantity(text) !== undefined,
  "sign(kubernetes.Quantity): int": sign,
  "kubernetes.Quantity.sign(): int": sign,
  "kubernetes.Quantity.isInteger(): bool": (one: Quantity) => one.isInteger,
  "kubernetes.Quantity.asInteger(): int": (one: Quantity) => {
    if (!one.isInteger) throw new Error("cannot convert value to integer");
    return one.nanos / scale;
  },
  "kubernetes.Quantity.asApproximateFloat(): double": (one: Quantity) =>
    Number(one.nanos) / Number(scale),
  "kubernetes.Quantity.add(kubernetes.Quantity): kubernetes.Quantity": (
    one: Quantity,
    other: Quantity,
  ) => new Quantity(one.nanos + other.nanos),
  "kubernetes.Quantity.add(int): kubernetes.Quantity": (one: Quantity, amount: bigint) =>
    new Quantity(one.nanos + amount * scale),
  "kubernetes.Quantity.sub(kubernetes.Quantity): kubernetes.Quantity": (
    one: Quantity,
    other: Quantity,
  ) => new Quantity(one.nanos - other.nanos),
  "kubernetes.Quantity.sub(int): kubernetes.Quantity": (one: Quantity, amount: bigint) =>
    new Quantity(one.nanos - amount * scale),
  "semver(string): kubernetes.Semver": (text: string) => toSemver(text),
  "semver(string, bool): kubernetes.Semver": (text: string, isLoose: boolean) =>
    toSemver(isLoose ? normalized(text) : text),
  "isSemver(string): bool": (text: string) => parseSemver(text) !== undefined,
  "isSemver(string, bool): bool": (text: string, isLoose: boolean) =>
    parseSemver(isLoose ? normalized(text) : text) !== undefined,
  "kubernetes.Semver.major(): int": ({ numbers }: Semver) => numbers[0],
  "kubernetes.Semver.minor(): int": ({ numbers }: Semver) => numbers[1],
  "kubernetes.Semver.patch(): int": ({ numbers }: Semver) => numbers[2],
  ...ordered("kubernetes.Quantity"),
  ...ordered("kubernetes.Semver"),
};

interface Ordered {
  compare(other: Ordered): number;
}

function ordered(type: string): CelFunctions {
  return {
    [`${type}.compareTo(${type}): int`]: (a: Ordered, b: Ordered) => BigInt(a.compare(b)),
    [`${type}.isGreaterThan(${type}): bool`]: (a: Ordered, b: Ordered) => a.compare(b) > 0,
    [`${type}.isLessThan(${type}): bool`]: (a: Ordered, b: Ordered) => a.compare(b) < 0,
  };
}

function toQuantity(text: string): Quantity {
  const quantity = parseQuantity(text);
  if (quantity !== undefined) return quantity;
  throw new Error(
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  );
}

function parseQuantity(text: string): Quantity | undefined {
  const found = text.length > amountMaxLength ? null : quantityPattern.exec(text);
  if (found === null) return undefined;
  const [, signText, amount = "", suffix = "", exponent] = found;
  const [whole = "", fraction = ""] = amount.split(".");
  const power = binaryPowers.indexOf(suffix) + 1;
  const decimals = Number(exponent ?? decimalExponents[suffix] ?? 0) - fraction.length + 9;
  const scaled = BigInt(`0${whole}${fraction}`) * (power > 0 ? 1024n ** BigInt(power) : 1n);
  const nanos = decimals >= 0 ? scaled * 10n ** BigInt(decimals) : roundedUp(scaled, -decimals);
  return new Quantity(signText === "-" ? -nanos : nanos);
}

/** Kubernetes rounds up below a billionth. */
function roundedUp(value: bigint, digits: number): bigint {
  const unit = 10n ** BigInt(digits);
  return (value + unit - 1n) / unit;
}

function sign({ nanos }: Quantity): bigint {
  if (nanos === 0n) return 0n;
  return nanos < 0n ? -1n : 1n;
}

function toSemver(text: string): Semver {
  const found = parseSemver(text);
  if (found === undefined) throw new Error("Semver parse error during conversion from string");
  return found;
}

function parseSemver(text: string): Semver | undefined {
  const found = text.length > amountMaxLength ? null : semverPattern.exec(text);
  if (found === null) return undefined;
  const [, major = "", minor = "", patch = "", pre] = found;
  const parts = pre?.split(".") ?? [];
  if (parts.some((part) => part === "" || /^0\d+$/.test(part))) return undefined;
  return new Semver([major, minor, patch].map(BigInt), parts);
}

/** `v1.2` becomes `1.2.0`, without leading zeros. */
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
