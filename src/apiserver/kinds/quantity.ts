// Quantities as text: `250m`, `128Mi`, `1e3`. Enough to tell which of two is less.

const factors: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** False also when one of them is no quantity. */
export function isLess(one: string, other: string): boolean {
  return amountOf(one) < amountOf(other);
}

function amountOf(text: string): number {
  const plain = Number(text);
  if (!Number.isNaN(plain)) {
    return plain;
  }
  const [, number = "", unit = ""] = /^([+-]?[\d.]+)([a-zA-Z]*)$/.exec(text) ?? [];
  return number === "" ? Number.NaN : Number(number) * (factors[unit] ?? Number.NaN);
}
