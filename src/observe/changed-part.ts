// The part of a slice that differs from its previous version. A slice lists a hundred endpoints and
// more, and one or two change at a time. Projections share equal values between versions, so
// unchanged endpoints are recognised by identity.
import type { EndpointSlice } from "../kube/kinds/endpoint-slice.ts";
import type { Endpoints } from "../kube/kinds/endpoints.ts";
import { differingPart } from "./list-difference.ts";

/** Both versions without endpoints that they have in common. */
export interface ChangedPart {
  readonly before: EndpointSlice;
  readonly after: EndpointSlice;
}

/** Undefined when it takes a look at the whole of both to see what differs. */
export function changedPart(
  before: EndpointSlice | Endpoints | undefined,
  after: EndpointSlice | Endpoints,
): ChangedPart | undefined {
  if (before === undefined || !("addressType" in before) || !("addressType" in after)) return;
  if (before.ports !== after.ports) return;
  const part = differingPart(before.endpoints, after.endpoints);
  if (isListedTwice(before, part.before)) return;
  return {
    before: { ...before, endpoints: part.before },
    after: { ...after, endpoints: part.after },
  };
}

/**
 * Whether an address of the part is in the rest too; removed from one, it may stay in the other.
 */
function isListedTwice({ endpoints }: EndpointSlice, part: EndpointSlice["endpoints"]): boolean {
  const inPart = new Set(part.map(({ addresses }) => addresses[0]));
  let found = 0;
  for (const { addresses } of endpoints) if (inPart.has(addresses[0])) found += 1;
  return found > part.length;
}
