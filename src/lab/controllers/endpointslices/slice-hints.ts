// Hints: for which zones and nodes an endpoint is meant. The controller gives them to the ready
// endpoints of services that want near traffic, and takes them away from all others. Slices that
// need nothing else are written for the sake of their hints.
import { sameJson } from "../../../kube/kinds/same-json.ts";
import { type PublishedSlice, revisedSlice, type WantedSlice } from "./published-slice.ts";
import type { Endpoint, EndpointHints } from "./slice-groups.ts";

/** The slices of one service and family on their way to be written, and those left as they are. */
export interface SlicesToHint {
  readonly create: readonly WantedSlice[];
  readonly update: readonly WantedSlice[];
  readonly unchanged: readonly PublishedSlice[];
}

export type HintedSlices = Pick<SlicesToHint, "create" | "update">;

export type Hinting = (slices: SlicesToHint) => HintedSlices;

/** topologycache/utils.go RemoveHintsFromSlices. */
export const withoutHints: Hinting = (slices) =>
  hinted(slices, {
    isWrong: ({ hints }) => hints !== undefined,
    hint: unhinted,
  });

/** trafficdist/trafficdist.go preferCloseHeuristic: endpoints that are not ready are passed over. */
export function nearHints({ nodes }: { readonly nodes: boolean }): Hinting {
  const wanted = ({ zone, nodeName }: Endpoint): EndpointHints => ({
    ...(zone === undefined ? {} : { forZones: [{ name: zone }] }),
    ...(nodeName === undefined || !nodes ? {} : { forNodes: [{ name: nodeName }] }),
  });
  return (slices) =>
    hinted(slices, {
      isWrong: (endpoint) => isReady(endpoint) && !sameJson(endpoint.hints, wanted(endpoint)),
      hint: (endpoint) => (isReady(endpoint) ? withHints(endpoint, wanted(endpoint)) : endpoint),
    });
}

export function isReady({ conditions }: Endpoint): boolean {
  return conditions.ready === true;
}

export function unhinted(endpoint: Endpoint): Endpoint {
  const { hints: _, ...others } = endpoint;
  return others;
}

export function withHints(endpoint: Endpoint, hints: EndpointHints): Endpoint {
  return Object.keys(hints).length === 0 ? unhinted(endpoint) : { ...endpoint, hints };
}

function hinted(
  { create, update, unchanged }: SlicesToHint,
  rule: {
    readonly isWrong: (endpoint: Endpoint) => boolean;
    readonly hint: (endpoint: Endpoint) => Endpoint;
  },
): HintedSlices {
  const wrong = unchanged.filter(({ endpoints }) => endpoints.some(rule.isWrong));
  const all = [...update, ...wrong.map((slice) => revisedSlice(slice, slice.endpoints))];
  const hint = (slice: WantedSlice): WantedSlice => ({
    ...slice,
    endpoints: slice.endpoints.map(rule.hint),
  });
  return { create: create.map(hint), update: all.map(hint) };
}
