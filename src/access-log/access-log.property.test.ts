import fc from "fast-check";
import { expect, it } from "vitest";
import { LineSplitter } from "../environment/line-splitter.ts";
import { isThorough } from "../simulation/seeds.ts";
import type { LoggedTry } from "./access-log-entry.ts";
import { AccessLogParser, lineBytesMax } from "./access-log-parser.ts";

/** Enough to meet the odd ones; each takes a fraction of a millisecond. */
const numRuns = isThorough(process.env) ? 500 : 40;

function read(text: string) {
  const parser = new AccessLogParser();
  return parser.read({ number: 1, text, isCut: false });
}

const place = fc.record({
  // Not the address that ingress-nginx writes for no endpoint.
  address: fc.oneof(
    fc.ipV4().filter((address) => address !== "0.0.0.1"),
    fc.constantFrom("fd00::1", "::1", "2001:db8::10:1"),
  ),
  port: fc.integer({ min: 1, max: 65_535 }),
});

const tries = fc.array(
  fc.record({
    place,
    status: fc.constantFrom(200, 404, 502, 503, 504),
    durationMs: fc.nat(120_000),
    length: fc.nat(10_000),
  }),
  { maxLength: 5 },
);

const asked = fc.record({
  tries,
  separators: fc.array(fc.constantFrom(", ", " : "), { minLength: 5, maxLength: 5 }),
  status: fc.integer({ min: 100, max: 599 }),
  durationMs: fc.nat(600_000),
  // 2001 to 2033, in seconds.
  seconds: fc.integer({ min: 1_000_000_000, max: 2_000_000_000 }),
  path: fc.webPath(),
  agent: fc.string({ unit: "binary" }),
});

type Asked = typeof asked extends fc.Arbitrary<infer Value> ? Value : never;

const seconds = (ms: number): string => (ms / 1_000).toFixed(3);

/** As nginx joins the values of several tries. */
function list({ tries: all, separators }: Asked, text: (one: Asked["tries"][number]) => string) {
  if (all.length === 0) return "-";
  return all.map((one, index) => `${index === 0 ? "" : separators[index]}${text(one)}`).join("");
}

function addressOf({ place: { address, port } }: Asked["tries"][number]): string {
  return `${address.includes(":") ? `[${address}]` : address}:${port}`;
}

/** As nginx escapes by default. */
function escaped(text: string): string {
  return Buffer.from(text, "utf8").reduce((all, byte) => {
    const isPlain = byte >= 32 && byte < 127 && byte !== 0x22 && byte !== 0x5c;
    const hex = byte.toString(16).toUpperCase().padStart(2, "0");
    return all + (isPlain ? String.fromCharCode(byte) : `\\x${hex}`);
  }, "");
}

function timeLocal(epochSeconds: number): string {
  const [, day, month, year, clock] =
    /^\w+, (\d+) (\w+) (\d+) (\S+) GMT$/.exec(new Date(epochSeconds * 1_000).toUTCString()) ?? [];
  return `${day}/${month}/${year}:${clock} +0000`;
}

function expectedTries(request: Asked): readonly LoggedTry[] {
  const redirect = request.separators.slice(0, request.tries.length).indexOf(" : ", 1);
  return request.tries.map(({ place: where, status, durationMs, length }, index) => ({
    ...where,
    status,
    durationMs,
    answered: (status !== 502 && status !== 504) || length > 0,
    ...(redirect > 0 && index >= redirect && { isRedirected: true }),
  }));
}

it("reads back what ingress-nginx writes, whatever was asked", () => {
  fc.assert(
    fc.property(asked, (request) => {
      const line =
        `203.0.113.9 - - [${timeLocal(request.seconds)}] "GET ${request.path}/ HTTP/1.1" ` +
        `${request.status} 7 "-" "${escaped(request.agent)}" 96 ${seconds(request.durationMs)} ` +
        `[shop-web-80] [] ${list(request, addressOf)} ${list(request, (one) => `${one.length}`)} ` +
        `${list(request, (one) => seconds(one.durationMs))} ` +
        `${list(request, (one) => `${one.status}`)} 4f1c`;
      expect(read(line)).toEqual({
        line: 1,
        endedMs: request.seconds * 1_000,
        resolutionMs: 1_000,
        durationMs: request.durationMs,
        status: request.status,
        method: "GET",
        host: undefined,
        target: `${request.path}/`,
        service: "shop/web",
        backend: "shop-web-80",
        tries: expectedTries(request),
      });
    }),
    { numRuns },
  );
});

it("reads back the same from JSON", () => {
  fc.assert(
    fc.property(asked, (request) => {
      const line = JSON.stringify({
        agent: request.agent,
        msec: `${request.seconds}.125`,
        status: request.status,
        request_time: seconds(request.durationMs),
        request_method: "GET",
        request_uri: `${request.path}/`,
        upstream_addr: list(request, addressOf),
        upstream_status: list(request, (one) => `${one.status}`),
        upstream_response_time: list(request, (one) => seconds(one.durationMs)),
        upstream_response_length: list(request, (one) => `${one.length}`),
      });
      expect(read(line)).toEqual({
        line: 1,
        endedMs: request.seconds * 1_000 + 125,
        resolutionMs: 1,
        durationMs: request.durationMs,
        status: request.status,
        method: "GET",
        host: undefined,
        target: `${request.path}/`,
        service: undefined,
        tries: expectedTries(request),
      });
    }),
    { numRuns },
  );
});

it("fails on no bytes at all, in whatever chunks they come", () => {
  const scraps = fc.constantFrom(
    '203.0.113.9 - - [15/Nov/2026:20:31:31 +0000] "GET / HTTP/1.1" 200 1 "-" "a"',
    '{"status":200,"time":',
    "2026-11-15T20:31:31Z stdout P ",
    '{"log":"{\\"log\\":\\"{}\\"}"}',
    "\n",
    "\r\n",
    '"',
    " : ",
    "[]",
    "\\x",
  );
  const bytes = fc.array(
    fc.oneof(
      scraps.map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 40 }),
    ),
    { maxLength: 40 },
  );
  fc.assert(
    fc.property(bytes, (chunks) => {
      const split = (parts: readonly Uint8Array[]) => {
        const splitter = new LineSplitter({ bytesMax: lineBytesMax });
        return [...parts.flatMap((part) => [...splitter.push(part)]), ...splitter.end()];
      };
      const lines = split(chunks);
      expect(split([Buffer.concat(chunks)])).toEqual(lines);
      const parser = new AccessLogParser();
      const entries = lines.filter((line) => parser.read(line) !== undefined);
      const { report } = parser;
      expect(report.lines).toBe(lines.length);
      expect([...report.entries.values()].reduce((sum, count) => sum + count, 0)).toBe(
        entries.length,
      );
    }),
    { numRuns },
  );
});
