import { expect, it } from "vitest";
import { LogFormat, LogFormatError } from "./log-format.ts";

it("reads a directive's pieces as one text, with variables in either form", () => {
  const format = new LogFormat({
    name: "ours",
    format: `log_format ours '$remote_addr it\\'s ' "\${status}x [$time_iso8601]";`,
  });
  expect(format.variables).toEqual(["remote_addr", "status", "time_iso8601"]);
  expect(format.read("::1 it's 200x [2026-11-15T20:31:31+00:00]")).toEqual(
    new Map([
      ["remote_addr", "::1"],
      ["status", "200"],
      ["time_iso8601", "2026-11-15T20:31:31+00:00"],
    ]),
  );
  expect(format.read("::1 it's 200x [yesterday]")).toBeUndefined();
  expect(format.read("::1 it's 200x [2026-11-15T20:31:31+00:00] and more")).toBeUndefined();
});

it("reads values that were escaped for JSON", () => {
  const format = new LogFormat({
    name: "ours",
    format: `log_format ours escape=json '{"s":$status,"r":"$request","u":"$upstream_addr"}';`,
  });
  expect(
    format.read('{"s":200,"r":"GET /\\"a\\u001b HTTP/1.1","u":"[::1]:80, 10.0.0.1:80"}'),
  ).toEqual(
    new Map([
      ["status", "200"],
      ["request", 'GET /"a\u001b HTTP/1.1'],
      ["upstream_addr", "[::1]:80, 10.0.0.1:80"],
    ]),
  );
});

it("refuses a format by which no request could be judged", () => {
  const make = () => new LogFormat({ name: "ours", format: "$remote_addr $request" });
  expect(make).toThrow(LogFormatError);
  expect(make).toThrow("the log format ours has no $status, so no request can be judged");
});

it("gives up on a line that could be read in very many ways", () => {
  const format = new LogFormat({ name: "ours", format: "$a $b $c $d $e $f $g $status!" });
  expect(format.read("x ".repeat(3_000))).toBeUndefined();
});

it.each(["|", ";", " up=", "\t", "/"])("ends words and lists at the separator %j", (separator) => {
  const names = ["upstream_addr", "remote_addr", "status"];
  const format = new LogFormat({
    name: "ours",
    format: names.map((name) => `$${name}`).join(separator),
  });
  const values = ["10.0.0.1:80, [::1]:80", "192.0.2.1", "502"];
  expect(format.read(values.join(separator))).toEqual(
    new Map(names.map((name, index) => [name, values[index]])),
  );
});
