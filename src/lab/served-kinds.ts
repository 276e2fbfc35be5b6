// The kinds that API servers of a version serve, and how they store them where that differs: an old
// server has no EndpointSlices, and up to 1.17.12 it packs and sorts the subsets of Endpoints. A kind
// that no controller of the lab runs can be listed, which kubectl does by itself, but not created.
import { ApiError } from "../apiserver/api-error.ts";
import { allKinds } from "../apiserver/kinds/all-kinds.ts";
import { qualifiedResource, type ResourceKind } from "../apiserver/kinds/resource-kind.ts";
import type { KubeObject } from "../apiserver/kube-object.ts";
import { repack } from "./controllers/endpoints/repack.ts";
import { placedIn } from "./controllers/endpoints/stored-subsets.ts";
import type { EndpointsPacking } from "./versions/profile.ts";
import { type ProfileName, profileNamed } from "./versions/profiles.ts";

export function servedKinds(profile: ProfileName): readonly ResourceKind[] {
  const { endpointSlices, endpointsPacking } = profileNamed(profile);
  return allKinds
    .filter(({ kind }) => kind !== "EndpointSlice" || endpointSlices)
    .map((kind): ResourceKind => {
      if (kindsNotRun.includes(kind.kind)) return refusing(kind);
      return kind.kind === "Endpoints" && endpointsPacking !== undefined
        ? { ...kind, canonicalize: (endpoints) => pack(endpoints, endpointsPacking) }
        : kind;
    });
}

/** `kubectl cluster-info dump` lists them in every cluster. */
const kindsNotRun = ["DaemonSet", "ReplicationController"];

/** Refused as an admission plugin would refuse it. */
function refusing(kind: ResourceKind): ResourceKind {
  const { group, resource } = kind;
  return {
    ...kind,
    prepareCreate({ metadata: { name } }) {
      const message =
        `${qualifiedResource(kind)} ${JSON.stringify(name)} is forbidden: ` +
        `the lab does not run ${kind.kind}s; use a Deployment`;
      const details = { name, ...(group === "" ? {} : { group }), kind: resource };
      throw new ApiError(403, "Forbidden", message, details);
    },
  };
}

/** pkg/registry/core/endpoint/strategy.go Canonicalize. */
function pack(endpoints: KubeObject, { types, keepsPortless }: EndpointsPacking): void {
  const placed = placedIn(endpoints).filter(({ port }) => port !== undefined || keepsPortless);
  const subsets = repack(placed, types);
  if (subsets.length === 0) delete endpoints["subsets"];
  else endpoints["subsets"] = subsets;
}
