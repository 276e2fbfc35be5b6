// Refusals in every form an API server or something in front of it sends them.
import { expect, it } from "vitest";
import type { WallMs } from "../../environment/clock.ts";
import type { Headers } from "../../environment/network.ts";
import { statusError } from "./http-client-status.ts";

const now = Date.parse("2026-01-02T03:04:05Z") as WallMs;

it("reads message, reason, causes and the time to wait from a Status", () => {
  const body = {
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    message: "Too large resource version: 10, current: 5",
    reason: "Timeout",
    details: {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large" }, { message: "bare" }],
      retryAfterSeconds: 1,
    },
    code: 504,
  };
  expect(refusal(504, JSON.stringify(body))).toEqual({
    code: 504,
    reason: "Timeout",
    message: "Too large resource version: 10, current: 5",
    retryAfterMs: 1000,
    causes: ["ResourceVersionTooLarge"],
  });
});

it.each([
  ["7", 7000],
  [" 0 ", 0],
  ["Fri, 02 Jan 2026 03:04:35 GMT", 30_000],
  ["Fri, 02 Jan 2026 03:00:00 GMT", 0],
  ["soon", undefined],
  ["", undefined],
])("reads Retry-After %j as %j ms", (value, expected) => {
  expect(refusal(429, "", { "retry-after": value }).retryAfterMs).toBe(expected);
});

it("prefers the header to the details", () => {
  const body = JSON.stringify({ kind: "Status", details: { retryAfterSeconds: 9 } });
  expect(refusal(429, body, { "retry-after": "2" }).retryAfterMs).toBe(2000);
});

it.each([
  ["<html>\n  <h1>502 Bad Gateway</h1>\n</html>", "<html> <h1>502 Bad Gateway</h1> </html>"],
  ["x".repeat(1000), `${"x".repeat(300)}…`],
  ["", "(no body)"],
  ['{"kind":"Status","message":"cut of', '{"kind":"Status","message":"cut of'],
  ['{"error":"not a Status"}', '{"error":"not a Status"}'],
  [
    '{"kind":"Status","message":7,"reason":7,"details":7}',
    '{"kind":"Status","message":7,"reason":7,"details":7}',
  ],
])("shows the beginning of what is not a Status", (body, shown) => {
  expect(refusal(502, body)).toEqual({
    code: 502,
    reason: "",
    message: `GET /api was answered with 502: ${shown}`,
    retryAfterMs: undefined,
    causes: [],
  });
});

function refusal(status: number, body: string, headers: Headers = {}) {
  const what = "GET /api";
  const error = statusError({ what, status, headers, body: Buffer.from(body), now });
  const { code, reason, message, retryAfterMs, causes } = error;
  return { code, reason, message, retryAfterMs, causes };
}
