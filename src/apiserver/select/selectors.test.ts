// Tables of label and field selectors.
import { describe, expect, test } from "vitest";
import { ApiError } from "../api-error.ts";
import { podKind } from "../kinds/pod.ts";
import { matchesFields, parseFieldSelector } from "./field-selector.ts";
import { matchesRequirements, parseLabelSelector } from "./label-selector.ts";

describe("a label selector", () => {
  const labels = { app: "web", tier: "front", "example.com/weight": "5", empty: "" };
  const cases: readonly [selector: string, expected: boolean][] = [
    ["", true],
    ["app=web", true],
    ["app==web,tier=front", true],
    ["app = web , tier!=back", true],
    ["app=api", false],
    ["missing!=x", true],
    ["app in (web, api)", true],
    ["app in (api)", false],
    ["app notin (api),missing notin (x)", true],
    ["app", true],
    ["!app", false],
    ["! missing", true],
    ["empty=", true],
    ["missing=", false],
    ["example.com/weight>4,example.com/weight<6", true],
    ["example.com/weight>5", false],
    ["missing<3", false],
    ["constructor", false],
    ["!toString", true],
    ["empty in ()", true],
    ["app in ()", false],
    ["app in (,web)", true],
  ];
  test.each(cases)("%j matches: %j", (selector, expected) => {
    expect(matchesRequirements(parseLabelSelector(selector), labels)).toBe(expected);
  });

  test("names the expected token in a list that ends early", () => {
    expect(() => parseLabelSelector("a in (")).toThrow(
      "unable to parse requirement: found '', expected: ',', ')' or identifier",
    );
  });

  test.each(["=a", "a=b=c", "a in b", "a in (b", ",", "a,,b", "a b", "-a=b", "a=b!"])(
    "%j is refused",
    (selector) => {
      expect(() => parseLabelSelector(selector)).toThrow(ApiError);
    },
  );
});

describe("a field selector", () => {
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "a", namespace: "n" },
    spec: { nodeName: "x,y" },
    status: { phase: "Running" },
  };
  const cases: readonly [selector: string, expected: boolean][] = [
    ["", true],
    ["metadata.name=a", true],
    ["metadata.namespace==n,status.phase!=Failed", true],
    ["status.phase=Failed", false],
    ["spec.nodeName=x\\,y", true],
    ["spec.nodeName!=", true],
    ["spec.hostNetwork=false", true],
  ];
  test.each(cases)("%j matches: %j", (selector, expected) => {
    expect(matchesFields(parseFieldSelector(selector, podKind), pod)).toBe(expected);
  });

  test.each([
    ["metadata.name=a\\", "invalid escape sequence: \\"],
    ["metadata.name=a\\q", "invalid escape sequence: \\q"],
    ["metadata.name=a=b", "unescaped character in value: 61"],
  ])("%j is refused", (selector, problem) => {
    expect(() => parseFieldSelector(selector, podKind)).toThrow(
      new ApiError(400, "BadRequest", `invalid field selector: ${problem}`),
    );
  });

  test("refuses a term without a comparison", () => {
    expect(() => parseFieldSelector("metadata.name", podKind)).toThrow(
      new ApiError(
        400,
        "BadRequest",
        "invalid selector: 'metadata.name'; can't understand 'metadata.name'",
      ),
    );
  });
});
