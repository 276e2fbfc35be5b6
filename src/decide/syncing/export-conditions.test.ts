import { expect, test } from "vitest";
import { sourceService } from "../../../tests/syncing/offers.ts";
import { changedConditions, exportConditions } from "./export-conditions.ts";

const now = "2026-01-02T00:00:00Z";
const earlier = "2026-01-01T00:00:00Z";

const fields = { target: "edge", blocked: undefined, merged: undefined };

function wanted(input: Partial<Parameters<typeof exportConditions>[0]>) {
  return exportConditions({ ...fields, service: sourceService(), ...input });
}

test("without knowing all clusters nothing is claimed about conflicts", () => {
  expect(wanted({}).map(({ type, status }) => `${type} ${status}`)).toEqual([
    "Valid True",
    "Ready True",
  ]);
});

test.each([
  [undefined, "NoService"],
  [sourceService({ spec: { type: "ExternalName" } }), "InvalidServiceType"],
  [
    sourceService({ labels: { "app.kubernetes.io/managed-by": "lockstep.dev" } }),
    "InvalidServiceType",
  ],
])("a Service that cannot be exported makes the export invalid: %#", (service, reason) => {
  const [valid, ready, conflict] = wanted({ service });
  expect(valid).toMatchObject({ status: "False", reason });
  expect(ready).toMatchObject({ status: "False", reason: "Failed", message: valid?.message });
  expect(conflict).toMatchObject({ status: "False", reason: "NoConflicts" });
});

test("an obstacle in the importing cluster is named", () => {
  const [, ready] = wanted({ blocked: "the access cluster has no namespace shop" });
  expect(ready).toMatchObject({
    status: "False",
    message: "edge: the access cluster has no namespace shop",
  });
});

test("equal conditions are not written, and those of others stay as they are", () => {
  const other = { type: "Audited", status: "True", by: "another controller" };
  const first = changedConditions({ conditions: [other] }, wanted({}), earlier);
  expect(first).toHaveLength(3);
  expect(first?.[0]).toBe(other);
  expect(changedConditions({ conditions: first ?? [] }, wanted({}), now)).toBeUndefined();
});

test("the time of a condition changes with its status alone", () => {
  const conditions = changedConditions({ conditions: [] }, wanted({ blocked: "one" }), earlier);
  const timesOf = (input: Partial<Parameters<typeof exportConditions>[0]>) => {
    const changed = changedConditions({ conditions: conditions ?? [] }, wanted(input), now);
    return changed?.map((one) => one["lastTransitionTime"]);
  };
  expect(timesOf({ blocked: "two" })).toEqual([earlier, earlier]);
  expect(timesOf({})).toEqual([earlier, now]);
});
