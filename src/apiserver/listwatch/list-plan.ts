// Which state a list shows. The combinations of resourceVersion, resourceVersionMatch, limit and
// continue mean one of three things; this decides which, or refuses, without looking at any data.
// https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-get-and-list
import { FieldErrors } from "../kinds/field-errors.ts";
import type { KubeObject } from "../kube-object.ts";
import { decodeContinue } from "./continue-token.ts";
import type { EncodedObject } from "./encoded-object.ts";
import { badRequest } from "./refusals.ts";
import { parseForList } from "./resource-version.ts";

export interface ListRequest {
  readonly namespace?: string | undefined;
  /** The selectors; only a list without any has a remaining count. */
  readonly matches?: ((object: KubeObject) => boolean) | undefined;
  readonly limit?: number | undefined;
  readonly continueToken?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly resourceVersionMatch?: string | undefined;
  /** Allowed for watches only. */
  readonly sendInitialEvents?: boolean | undefined;
}

export interface ListAnswer {
  /** In key order: by namespace, then by name. */
  readonly items: readonly EncodedObject[];
  readonly resourceVersion: string;
  readonly continueToken?: string;
  readonly remainingItemCount?: number;
}

export type ListPlan =
  /** The cache's present, when it is no older than `minRevision`; 0 takes any. */
  | { readonly show: "cached"; readonly minRevision: number; readonly limit: number | undefined }
  /** The storage's present. */
  | {
      readonly show: "latest";
      readonly limit: number | undefined;
      readonly afterKey: string | undefined;
    }
  /** Exactly that revision. */
  | {
      readonly show: "exact";
      readonly revision: number;
      readonly limit: number | undefined;
      readonly afterKey: string | undefined;
    };

/** `prefix` is that of the list: of the resource, or of one namespace in it. */
export function planList(request: ListRequest, prefix: string): ListPlan {
  const { continueToken = "", resourceVersion = "", resourceVersionMatch: match = "" } = request;
  refuseBadMatch(request);
  const limit = request.limit !== undefined && request.limit > 0 ? request.limit : undefined;
  if (continueToken !== "") return planContinue(continueToken, resourceVersion, limit, prefix);
  if (resourceVersion === "") return { show: "latest", limit, afterKey: undefined };
  const revision = parseForList(resourceVersion);
  if (match === "Exact" || (match === "" && limit !== undefined && revision > 0)) {
    return { show: "exact", revision, limit, afterKey: undefined };
  }
  // A list of the cached state has no revision for its pages.
  return { show: "cached", minRevision: revision, limit: revision === 0 ? undefined : limit };
}

function planContinue(
  token: string,
  resourceVersion: string,
  limit: number | undefined,
  prefix: string,
): ListPlan {
  const { revision, afterKey } = decodeContinue(token, prefix);
  if (resourceVersion !== "" && resourceVersion !== "0") {
    throw badRequest("specifying resource version is not allowed when using continue");
  }
  if (revision === "latest") return { show: "latest", limit, afterKey };
  return { show: "exact", revision, limit, afterKey };
}

function refuseBadMatch(request: ListRequest): void {
  const { resourceVersionMatch: match = "" } = request;
  const errors = new FieldErrors();
  if (match !== "") refuseMatch(request, errors);
  if (request.sendInitialEvents !== undefined) {
    errors.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list");
  }
  errors.throwIfAny({ group: "meta.k8s.io", kind: "ListOptions" }, "");
}

function refuseMatch(request: ListRequest, errors: FieldErrors): void {
  const { continueToken = "", resourceVersion = "", resourceVersionMatch: match = "" } = request;
  const field = "resourceVersionMatch";
  if (resourceVersion === "") {
    errors.forbidden(field, `${field} is forbidden unless resourceVersion is provided`);
  }
  if (continueToken !== "") {
    errors.forbidden(field, `${field} is forbidden when continue is provided`);
  }
  if (match !== "Exact" && match !== "NotOlderThan") {
    errors.notSupported(field, match, ["Exact", "NotOlderThan", ""]);
  }
  if (match === "Exact" && resourceVersion === "0") {
    errors.forbidden(field, `${field} "exact" is forbidden for resourceVersion "0"`);
  }
}
