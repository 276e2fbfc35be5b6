// The whole matrix of list options, with the words of the refusals.
import { describe, expect, it } from "vitest";
import { ApiError } from "../api-error.ts";
import { encodeContinue } from "./continue-token.ts";
import { type ListRequest, planList } from "./list-plan.ts";

const prefix = "/registry/pods/";
const page2 = encodeContinue({ revision: 7, afterKey: "/registry/pods/a/x" }, prefix);
const remainder = encodeContinue({ revision: "latest", afterKey: "/registry/pods/a/x" }, prefix);

/** The plan, or the refusal's code and message. */
function planned(request: ListRequest): unknown {
  try {
    return planList(request, prefix);
  } catch (error) {
    if (error instanceof ApiError) return `${error.code} ${error.message}`;
    throw error;
  }
}

const invalid = '422 ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch:';
const unless = "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided";
const whenContinue = "Forbidden: resourceVersionMatch is forbidden when continue is provided";
const unsupported = 'Unsupported value: "Sometimes": supported values: "Exact", "NotOlderThan", ""';
const notZero = 'Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"';
const notANumber =
  "400 invalid resource version: resourceVersion: " +
  'Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax';
const notWithContinue = "400 specifying resource version is not allowed when using continue";

const latest = (limit?: number, afterKey?: string) => ({ show: "latest", limit, afterKey });
const cached = (minRevision: number, limit?: number) => ({ show: "cached", minRevision, limit });
const exact = (revision: number, limit?: number, afterKey?: string) => {
  return { show: "exact", revision, limit, afterKey };
};

describe("planList", () => {
  // resourceVersion, resourceVersionMatch, limit, what is shown
  it.each<[string, string, number, unknown]>([
    ["", "", 0, latest()],
    ["", "", 5, latest(5)],
    ["", "", -1, latest()],
    ["0", "", 0, cached(0)],
    ["0", "", 5, cached(0)],
    ["12", "", 0, cached(12)],
    ["12", "", 5, exact(12, 5)],
    ["abc", "", 0, notANumber],
    ["abc", "", 5, notANumber],
    ["", "Exact", 0, `${invalid} ${unless}`],
    ["", "Exact", 5, `${invalid} ${unless}`],
    ["0", "Exact", 0, `${invalid} ${notZero}`],
    ["0", "Exact", 5, `${invalid} ${notZero}`],
    ["12", "Exact", 0, exact(12)],
    ["12", "Exact", 5, exact(12, 5)],
    ["abc", "Exact", 0, notANumber],
    ["", "NotOlderThan", 0, `${invalid} ${unless}`],
    ["0", "NotOlderThan", 0, cached(0)],
    ["0", "NotOlderThan", 5, cached(0)],
    ["12", "NotOlderThan", 0, cached(12)],
    ["12", "NotOlderThan", 5, cached(12, 5)],
    ["abc", "NotOlderThan", 0, notANumber],
    ["12", "Sometimes", 0, `${invalid} ${unsupported}`],
    [
      "",
      "Sometimes",
      0,
      '422 ListOptions.meta.k8s.io "" is invalid: ' +
        `[resourceVersionMatch: ${unless}, resourceVersionMatch: ${unsupported}]`,
    ],
  ])("resourceVersion=%j resourceVersionMatch=%j limit=%j", (version, match, limit, plan) => {
    const request = { resourceVersion: version, resourceVersionMatch: match, limit };
    expect(planned(request)).toEqual(plan);
  });

  const x = "/registry/pods/a/x";

  // continue, resourceVersion, resourceVersionMatch, limit, what is shown
  it.each<[string, string, string, number, unknown]>([
    [page2, "", "", 0, exact(7, undefined, x)],
    [page2, "", "", 5, exact(7, 5, x)],
    [page2, "0", "", 5, exact(7, 5, x)],
    [page2, "7", "", 5, notWithContinue],
    [page2, "abc", "", 5, notWithContinue],
    [page2, "7", "Exact", 5, `${invalid} ${whenContinue}`],
    [page2, "0", "NotOlderThan", 5, `${invalid} ${whenContinue}`],
    [
      page2,
      "",
      "NotOlderThan",
      5,
      '422 ListOptions.meta.k8s.io "" is invalid: ' +
        `[resourceVersionMatch: ${unless}, resourceVersionMatch: ${whenContinue}]`,
    ],
    [remainder, "", "", 5, latest(5, x)],
    [
      "?",
      "",
      "",
      5,
      "400 invalid continue token: continue key is not valid: illegal base64 data at input byte 0",
    ],
  ])("continue=%j resourceVersion=%j resourceVersionMatch=%j limit=%j", (token, ...rest) => {
    const [resourceVersion, resourceVersionMatch, limit, plan] = rest;
    const request = { continueToken: token, resourceVersion, resourceVersionMatch, limit };
    expect(planned(request)).toEqual(plan);
  });

  it("has the invalid field in the causes of the refusal", () => {
    const request = { resourceVersion: "0", resourceVersionMatch: "Exact" };
    const refusal = expect.objectContaining({
      reason: "Invalid",
      details: {
        group: "meta.k8s.io",
        kind: "ListOptions",
        causes: [
          { reason: "FieldValueForbidden", message: notZero, field: "resourceVersionMatch" },
        ],
      },
    });
    expect(() => planList(request, prefix)).toThrow(refusal);
  });
});
