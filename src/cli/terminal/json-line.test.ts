import { expect, test } from "vitest";
import { jsonLine } from "./json-line.ts";

test("what a terminal would obey or hide is escaped, and means the same", () => {
  const value = { host: "a\u001b[2J\u009b31m\u007f", path: "/\u202eü😀\u{e0001}\u2028\n" };
  const line = jsonLine(value);
  expect(line).toBe(
    '{"host":"a\\u001b[2J\\u009b31m\\u007f","path":"/\\u202eü😀\\udb40\\udc01\\u2028\\n"}',
  );
  expect(JSON.parse(line)).toEqual(value);
});
