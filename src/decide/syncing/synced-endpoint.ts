// The endpoints as they are to appear in an access cluster: here what a business cluster has
// published, in either form; a decided truth would be another way to make them.
import {
  type ListedEndpoint,
  listedInEndpoints,
  listedInSlice,
} from "../../model/published-endpoint.ts";
import type { PublishedObjects } from "../../sources/published-watch.ts";
import { isOwnedSlice } from "./synced-names.ts";

/** The pod stays in it, so that an observer can tell it from its successor with the same address. */
export type SyncedEndpoint = ListedEndpoint;

/**
 * The endpoints published by the cluster's own controllers, or by hand; never Lockstep's own
 * copies.
 */
export function publishedToSync({ slices, endpoints }: PublishedObjects): SyncedEndpoint[] {
  const published = slices.filter((slice) => !isOwnedSlice(slice)).flatMap(listedInSlice);
  return endpoints === undefined ? published : [...published, ...listedInEndpoints(endpoints)];
}
