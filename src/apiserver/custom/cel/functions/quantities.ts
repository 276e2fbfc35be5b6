// Kubernetes' `quantity()`: amounts with decimal and binary suffixes, compared exactly.
import { define, defineMethod, type Overload } from "../overloads.ts";
import { CelError, OpaqueValue } from "../values.ts";

/** Nine digits behind the point, the finest a quantity keeps. */
const scale = 1_000_000_000n;

class Quantity extends OpaqueValue {
  readonly typeName = "kubernetes.Quantity";
  /** In billionths. */
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    super();
    this.nanos = nanos;
  }

  get isInteger(): boolean {
    return this.nanos % scale === 0n && this.nanos / scale < 2n ** 63n;
  }

  equals(other: OpaqueValue): boolean {
    return other instanceof Quantity && other.nanos === this.nanos;
  }

  compare(other: Quantity): bigint {
    if (this.nanos === other.nanos) return 0n;
    return this.nanos < other.nanos ? -1n : 1n;
  }
}

const pattern = /^([+-]?)(\d+(?:\.\d*)?|\.\d+)(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,3}))?$/;

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

export const quantities: readonly Overload[] = [
  define("quantity(string) kubernetes.Quantity", toQuantity),
  define("isQuantity(string) bool", (text: string) => parse(text) !== undefined),
  define("sign(kubernetes.Quantity) int", sign),
  defineMethod("sign(kubernetes.Quantity) int", sign),
  defineMethod("isInteger(kubernetes.Quantity) bool", (one: Quantity) => one.isInteger),
  defineMethod("asInteger(kubernetes.Quantity) int", (one: Quantity) => {
    if (!one.isInteger) throw new CelError("cannot convert value to integer");
    return one.nanos / scale;
  }),
  defineMethod("asApproximateFloat(kubernetes.Quantity) double", (one: Quantity) => {
    return Number(one.nanos) / Number(scale);
  }),
  defineMethod(
    "isGreaterThan(kubernetes.Quantity, kubernetes.Quantity) bool",
    (one: Quantity, other: Quantity) => one.compare(other) > 0n,
  ),
  defineMethod(
    "isLessThan(kubernetes.Quantity, kubernetes.Quantity) bool",
    (one: Quantity, other: Quantity) => one.compare(other) < 0n,
  ),
  defineMethod(
    "compareTo(kubernetes.Quantity, kubernetes.Quantity) int",
    (one: Quantity, other: Quantity) => one.compare(other),
  ),
  defineMethod(
    "add(kubernetes.Quantity, kubernetes.Quantity) kubernetes.Quantity",
    (one: Quantity, other: Quantity) => new Quantity(one.nanos + other.nanos),
  ),
  defineMethod(
    "add(kubernetes.Quantity, int) kubernetes.Quantity",
    (one: Quantity, amount: bigint) => new Quantity(one.nanos + amount * scale),
  ),
  defineMethod(
    "sub(kubernetes.Quantity, kubernetes.Quantity) kubernetes.Quantity",
    (one: Quantity, other: Quantity) => new Quantity(one.nanos - other.nanos),
  ),
  defineMethod(
    "sub(kubernetes.Quantity, int) kubernetes.Quantity",
    (one: Quantity, amount: bigint) => new Quantity(one.nanos - amount * scale),
  ),
];

function toQuantity(text: string): Quantity {
  const quantity = parse(text);
  if (quantity !== undefined) return quantity;
  throw new CelError(
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  );
}

function parse(text: string): Quantity | undefined {
  const found = pattern.exec(text);
  if (found === null) return undefined;
  const [, signText, amount = "", suffix = "", exponent] = found;
  const [whole = "", fraction = ""] = amount.split(".");
  const digits = BigInt(`0${whole}${fraction}`);
  const power = binaryPowers.indexOf(suffix) + 1;
  const decimals = Number(exponent ?? decimalExponents[suffix] ?? 0) - fraction.length + 9;
  const scaled = digits * (power > 0 ? 1024n ** BigInt(power) : 1n);
  const nanos = decimals >= 0 ? scaled * 10n ** BigInt(decimals) : roundedUp(scaled, -decimals);
  return new Quantity(signText === "-" ? -nanos : nanos);
}

/** What is finer than a billionth is rounded up, as Kubernetes does. */
function roundedUp(value: bigint, digits: number): bigint {
  const unit = 10n ** BigInt(digits);
  return (value + unit - 1n) / unit;
}

function sign({ nanos }: Quantity): bigint {
  if (nanos === 0n) return 0n;
  return nanos < 0n ? -1n : 1n;
}
