// Where a watch starts. The combinations of resourceVersion, resourceVersionMatch and
// sendInitialEvents mean either "the state first, then changes" or "changes after a revision";
// this decides which, or refuses, without looking at any data. As servers since 1.34 do, a watch
// from nowhere counts as one with initial events.
import { FieldErrors } from "../kinds/field-errors.ts";
import type { KubeObject } from "../kube-object.ts";
import { parseForRead } from "./resource-version.ts";

export interface WatchRequest {
  readonly namespace?: string | undefined;
  /** The selectors; absent when the client gave none. */
  readonly matches?: ((object: KubeObject) => boolean) | undefined;
  readonly resourceVersion?: string | undefined;
  readonly resourceVersionMatch?: string | undefined;
  readonly sendInitialEvents?: boolean | undefined;
  readonly allowWatchBookmarks: boolean;
  readonly timeoutSeconds?: number | undefined;
  /** The form of each object for the client; absent for the object itself. */
  readonly shape?: ((object: Record<string, unknown>) => object) | undefined;
  /** The client, for faults and logs. */
  readonly clientName?: string | undefined;
}

/** A revision, the newest of the storage, or that of the cache. */
export type WatchRevision = number | "latest" | "cached";

export type WatchPlan =
  /** The whole state, no older than `minRevision`, then every change of it. */
  | {
      readonly start: "state";
      readonly minRevision: WatchRevision;
      /** A bookmark marks the end of the state. */
      readonly endBookmark: boolean;
    }
  /** Every change after a revision. */
  | { readonly start: "changes"; readonly afterRevision: WatchRevision };

export function planWatch(request: WatchRequest): WatchPlan {
  const { resourceVersion = "", resourceVersionMatch: match = "" } = request;
  const fromNowhere = resourceVersion === "" || resourceVersion === "0";
  const byDefault = match === "" && fromNowhere ? true : undefined;
  const sendInitialEvents = request.sendInitialEvents ?? byDefault;
  if (byDefault === undefined || request.sendInitialEvents !== undefined) refuseBadMatch(request);
  const parsed = parseForRead(resourceVersion);
  const revision = resourceVersion === "" ? "latest" : parsed === 0 ? "cached" : parsed;
  if (sendInitialEvents !== true) return { start: "changes", afterRevision: revision };
  return { start: "state", minRevision: revision, endBookmark: request.allowWatchBookmarks };
}

function refuseBadMatch(request: WatchRequest): void {
  const { resourceVersionMatch: match = "", sendInitialEvents } = request;
  const field = "resourceVersionMatch";
  const errors = new FieldErrors();
  if (sendInitialEvents !== undefined && match !== "NotOlderThan") {
    errors.forbidden(field, `sendInitialEvents requires setting ${field} to NotOlderThan`);
  }
  if (match !== "" && sendInitialEvents === undefined) {
    errors.forbidden(field, `${field} is forbidden for watch unless sendInitialEvents is provided`);
  }
  if (match !== "" && match !== "NotOlderThan") {
    errors.notSupported(field, match, ["NotOlderThan"]);
  }
  errors.throwIfAny({ group: "meta.k8s.io", kind: "ListOptions" }, "");
}
