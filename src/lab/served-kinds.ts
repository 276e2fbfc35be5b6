// What the API servers of a version serve, and how they store it where that differs: an old server
// has no EndpointSlices, and up to 1.17.12 it packs and sorts the subsets of Endpoints anew.
import { allKinds } from "./apiserver/kinds/all-kinds.ts";
import type { ResourceKind } from "./apiserver/kinds/resource-kind.ts";
import type { KubeObject } from "./apiserver/kube-object.ts";
import { repack } from "./controllers/endpoints/repack.ts";
import { placedIn } from "./controllers/endpoints/stored-subsets.ts";
import type { EndpointsPacking } from "./controllers/profiles/profile.ts";
import { type ProfileName, profileNamed } from "./controllers/profiles.ts";

export function servedKinds(profile: ProfileName): readonly ResourceKind[] {
  const { endpointSlices, endpointsPacking } = profileNamed(profile);
  return allKinds
    .filter(({ kind }) => kind !== "EndpointSlice" || endpointSlices)
    .map((kind) =>
      kind.kind === "Endpoints" && endpointsPacking !== undefined
        ? { ...kind, canonicalize: (endpoints) => pack(endpoints, endpointsPacking) }
        : kind,
    );
}

/** pkg/registry/core/endpoint/strategy.go Canonicalize. */
function pack(endpoints: KubeObject, { types, keepsPortless }: EndpointsPacking): void {
  const placed = placedIn(endpoints).filter(({ port }) => port !== undefined || keepsPortless);
  const subsets = repack(placed, types);
  if (subsets.length === 0) delete endpoints["subsets"];
  else endpoints["subsets"] = subsets;
}
