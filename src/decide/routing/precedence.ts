// Precedence: of routes that claim the same, and of rules that match the same request.
import { compareText } from "../compare-text.ts";
import { compareConditions } from "../route-conditions.ts";
import type { RouteMatch, RouteOrigin } from "./route.ts";

/** Objects that stay come first, then the older ones, then by namespace and name. */
export function compareAge(a: RouteOrigin, b: RouteOrigin): number {
  if (a.isLeaving !== b.isLeaving) return a.isLeaving === true ? 1 : -1;
  if (a.createdAtMs !== b.createdAtMs) return a.createdAtMs < b.createdAtMs ? -1 : 1;
  return compareText(a.namespace, b.namespace) || compareText(a.name, b.name);
}

/** Of prefixes and expressions the longer text first, a prefix before an expression; then conditions. */
export function compareSpecificity(a: RouteMatch, b: RouteMatch): number {
  if (a.path.length !== b.path.length) return b.path.length - a.path.length;
  return (
    compareText(a.type, b.type) || compareText(a.path, b.path) || compareConditions(a.when, b.when)
  );
}
