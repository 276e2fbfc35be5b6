// Measured values as text: counts in full, other values with three significant digits and a unit.
// Pure.
import { durationText } from "../../environment/duration-text.ts";
import type { Unit } from "../../lab/incidents/figure.ts";

/** Shown where a value does not apply. */
const nothing = "–";

/** `10 min 46 s`, `12,954`, `20/s`, `25 %`, `×1.37`. */
export function valueText(value: number | undefined, unit: Unit): string {
  if (value === undefined) return nothing;
  switch (unit) {
    case "ms":
      return durationText(value);
    case "requests":
    case "count":
      return numberText(value);
    case "per second":
      return `${numberText(value)}/s`;
    case "share":
      return percentText(value);
    case "factor":
      return `×${numberText(value)}`;
  }
}

/** Whole numbers in full, others to three digits: `12,954`, `1.37`. */
export function numberText(value: number): string {
  const shown = Number.isInteger(value) ? value : Number(value.toPrecision(3));
  return shown.toLocaleString("en-US", { maximumFractionDigits: 6 });
}

/** `25 %` for 0.25. */
export function percentText(share: number): string {
  return `${numberText(Number((share * 100).toPrecision(3)))} %`;
}
