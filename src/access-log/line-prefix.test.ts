import { expect, test } from "vitest";
import { withoutPrefix } from "./line-prefix.ts";

const line = '203.0.113.9 - - [15/Nov/2026:20:31:31 +0000] "GET / HTTP/1.1" 200 12 "-" "curl/8"';

test.each([
  "ingress-nginx-controller-5f7d-abcde controller ",
  "ingress-nginx ingress-nginx-controller-5f7d-abcde controller ",
  "ingress-nginx/ingress-nginx-controller-5f7d-abcde[controller]: ",
  "[ingress-nginx-controller-5f7d-abcde controller] ",
  "[ingress-nginx-controller-5f7d-abcde] ",
  '{app="ingress", pod="a-b"} ',
  "<190>1 2026-11-15T20:31:31.250Z node-1 nginx 12 - - ",
  '<190>1 2026-11-15T20:31:31.250+00:00 node-1 nginx - ID47 [a@1 b="c"] ',
])("%j is no part of the line", (prefix) => {
  expect(withoutPrefix(`${prefix}${line}`).text).toBe(line);
});

test("the newer form of syslog says when the line was written", () => {
  const { carriedAt } = withoutPrefix(
    `<190>1 2026-11-15T20:31:31.250Z node-1 nginx 12 - - ${line}`,
  );
  expect(carriedAt).toEqual({ wallMs: Date.parse("2026-11-15T20:31:31.250Z"), resolutionMs: 1 });
});

test.each([
  line,
  'shop-web example "GET / HTTP/1.1" 200',
  '[2026-11-15T20:31:31.250Z] "GET / HTTP/1.1" 503 UF',
  '{"app":"web"} 1',
])("%j has no prefix", (text) => {
  expect(withoutPrefix(text).text).toBe(text);
});
