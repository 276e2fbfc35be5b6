// The whole matrix of watch options, with the words of the refusals.
import { describe, expect, it } from "vitest";
import { ApiError } from "../api-error.ts";
import { planWatch, type WatchRequest } from "./watch-plan.ts";

function planned(request: WatchRequest): unknown {
  try {
    return planWatch(request);
  } catch (error) {
    if (error instanceof ApiError) return `${error.code} ${error.message}`;
    throw error;
  }
}

const invalid = '422 ListOptions.meta.k8s.io "" is invalid:';
const requires =
  "resourceVersionMatch: Forbidden: " +
  "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
const unless =
  "resourceVersionMatch: Forbidden: " +
  "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
const unsupported =
  'resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"';
const notANumber =
  '500 resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax';

const state = (minRevision: number | string) => {
  return { start: "state", minRevision, endBookmark: true };
};
const changes = (afterRevision: number | string) => ({ start: "changes", afterRevision });

describe("planWatch", () => {
  // resourceVersion, resourceVersionMatch, sendInitialEvents, where the watch starts
  it.each<[string, string, boolean | undefined, unknown]>([
    ["", "", undefined, state("latest")],
    ["0", "", undefined, state("cached")],
    ["12", "", undefined, changes(12)],
    ["abc", "", undefined, notANumber],
    ["", "", true, `${invalid} ${requires}`],
    ["12", "", false, `${invalid} ${requires}`],
    ["", "NotOlderThan", true, state("latest")],
    ["0", "NotOlderThan", true, state("cached")],
    ["12", "NotOlderThan", true, state(12)],
    ["abc", "NotOlderThan", true, notANumber],
    ["", "NotOlderThan", false, changes("latest")],
    ["0", "NotOlderThan", false, changes("cached")],
    ["12", "NotOlderThan", false, changes(12)],
    ["", "NotOlderThan", undefined, `${invalid} ${unless}`],
    ["12", "NotOlderThan", undefined, `${invalid} ${unless}`],
    ["12", "Exact", undefined, `${invalid} [${unless}, ${unsupported}]`],
    ["12", "Exact", true, `${invalid} [${requires}, ${unsupported}]`],
  ])("resourceVersion=%j resourceVersionMatch=%j sendInitialEvents=%j", (...row) => {
    const [resourceVersion, resourceVersionMatch, sendInitialEvents, plan] = row;
    const options = { resourceVersion, resourceVersionMatch, sendInitialEvents };
    expect(planned({ ...options, allowWatchBookmarks: true })).toEqual(plan);
  });

  it("marks the end of the state only for clients that accept bookmarks", () => {
    expect(planWatch({ allowWatchBookmarks: false })).toEqual({
      start: "state",
      minRevision: "latest",
      endBookmark: false,
    });
  });
});
