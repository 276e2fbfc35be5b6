// The table of cases that the balancer in nginx and its twin both pass.
import { readFileSync } from "node:fs";
import type { PathRule } from "../../src/decide/decision.ts";
import type { Canary } from "../../src/decide/route-policy.ts";
import type { AskedRequest } from "../../src/outputs/nginx/route-match.ts";

export interface RouteCase {
  readonly name: string;
  readonly hosts: Readonly<Record<string, readonly PathRule[]>>;
  /** Host, path, the service that gets it, and what else rules may ask of the request. */
  readonly requests: readonly (readonly [
    host: string,
    path: string,
    service: string | null,
    asked?: AskedRequest,
  ])[];
}

/** By one of `cursor` (round robin), `keys` (hash), `draws` (least latency) and `cookies`. */
export interface BalanceCase {
  readonly name: string;
  /** The endpoint in slot 7 has the name `c1/d/pod-7`. */
  readonly service: {
    readonly tiers: readonly number[];
    readonly slots: readonly number[];
    readonly weights?: readonly number[];
  };
  /** Slots. */
  readonly suspects?: readonly number[];
  /** Slots that every pick finds tried already. */
  readonly tried?: readonly number[];
  /** Where the first pick begins. */
  readonly cursor?: number;
  /** One for each pick. */
  readonly keys?: readonly string[];
  /** The numbers drawn for each pick. */
  readonly draws?: readonly (readonly number[])[];
  /** By slot, beside `draws`. */
  readonly known?: Readonly<Record<string, KnownLatency>>;
  /** One for each pick. */
  readonly cookies?: readonly string[];
  /**
   * The slot each request gets, in turn, or null. By cookie: null if it names no endpoint, and 0 if
   * that endpoint cannot serve now.
   */
  readonly picks: readonly (number | null)[];
}

/** Absent: not measured, nothing under way, joined long ago. */
export interface KnownLatency {
  readonly latencyMs?: number;
  readonly measuredMsAgo?: number;
  readonly underWay?: number;
  readonly joinedMsAgo?: number;
}

export function routeCases(): readonly RouteCase[] {
  return JSON.parse(casesText("route")) as RouteCase[];
}

export function balanceCases(): readonly BalanceCase[] {
  return JSON.parse(casesText("balance")) as BalanceCase[];
}

export interface CanaryCase {
  readonly name: string;
  readonly canary: Canary;
  /** Headers, and whether the canary wants the request. */
  readonly requests: readonly (readonly [
    headers: Readonly<Record<string, string>>,
    wants: boolean,
  ])[];
}

export function canaryCases(): readonly CanaryCase[] {
  return JSON.parse(casesText("canary")) as CanaryCase[];
}

export function casesText(name: "route" | "balance" | "canary"): string {
  return readFileSync(new URL(`../../proxy/cases/${name}.json`, import.meta.url), "utf8");
}
