// Numbers in a query, as Go's ParseInt reads them.
import { describe, expect, it } from "vitest";
import { badRequest } from "../decode/body.ts";
import { configMapKind } from "../kinds/config-map.ts";
import { readInteger, readListRequest } from "./read-options.ts";

function read(query: string): number | undefined {
  return readInteger(new URLSearchParams(query), "limit");
}

describe("a number in a query", () => {
  it.each([
    ["", undefined],
    ["limit=7&limit=x", 7],
    ["limit=-1", -1],
    ["limit=%2B5", 5],
    ["limit=9223372036854775807", 2 ** 63],
  ])("%j is %j", (query, expected) => {
    expect(read(query)).toBe(expected);
  });

  it.each([
    ["", "invalid syntax"],
    ["1.5", "invalid syntax"],
    ["0x1", "invalid syntax"],
    ["9223372036854775808", "value out of range"],
    ["-99999999999999999999", "value out of range"],
  ])("may not be %j", (text, problem) => {
    expect(() => read(`limit=${text}`)).toThrow(
      badRequest(`strconv.ParseInt: parsing "${text}": ${problem}`),
    );
  });

  it("is read even where it means nothing", () => {
    const query = new URLSearchParams("timeoutSeconds=abc");
    expect(() => readListRequest({ kind: configMapKind, namespace: undefined, query })).toThrow(
      badRequest('strconv.ParseInt: parsing "abc": invalid syntax'),
    );
  });
});
