// For tests only: the table of cases that the balancer in nginx and its twin both pass.
import { readFileSync } from "node:fs";
import type { PathRule } from "../../decide/decision.ts";

export interface RouteCase {
  readonly name: string;
  readonly hosts: Readonly<Record<string, readonly PathRule[]>>;
  /** Host, path, and the service that gets it. */
  readonly requests: readonly (readonly [host: string, path: string, service: string | null])[];
}

export interface BalanceCase {
  readonly name: string;
  readonly service: { readonly active: number; readonly slots: readonly number[] };
  /** Slots. */
  readonly suspects: readonly number[];
  readonly cursor: number;
  /** Slots that every pick finds tried already. */
  readonly tried?: readonly number[];
  /** The slot each request gets, in turn. */
  readonly picks: readonly (number | null)[];
}

export function routeCases(): readonly RouteCase[] {
  return JSON.parse(casesText("route")) as RouteCase[];
}

export function balanceCases(): readonly BalanceCase[] {
  return JSON.parse(casesText("balance")) as BalanceCase[];
}

export function casesText(name: "route" | "balance"): string {
  return readFileSync(new URL(`../../../proxy/cases/${name}.json`, import.meta.url), "utf8");
}
