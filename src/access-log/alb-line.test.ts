import { expect, test } from "vitest";
import { AccessLogParser } from "./access-log-parser.ts";

/** A line of an Application Load Balancer, whose targets are pods. */
function line(target: string, times: string, statuses: string): string {
  return (
    `https 2026-11-15T20:31:31.500000Z app/k8s-shop/50dc6c495c0c9188 203.0.113.9:2817 ${target} ` +
    `${times} ${statuses} 34 366 "GET https://shop.example:443/cart?x=1 HTTP/1.1" "curl/8" ` +
    "ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 " +
    "arn:aws:elasticloadbalancing:eu-west-1:123:targetgroup/k8s-shop-web/73e2 " +
    '"Root=1-58337262-36d2" "shop.example" "session-reused" 0 2026-11-15T20:31:26.400000Z ' +
    `"forward" "-" "-" "${target}" "-" "-" "-" TID_1`
  );
}

function read(text: string) {
  const parser = new AccessLogParser();
  const entry = parser.read({ number: 1, text, isCut: false });
  return { entry, formats: [...parser.report.entries.keys()] };
}

test("the load balancer's line names the pod, and says whether it answered", () => {
  const silent = line("10.0.0.1:8080", "0.000 -1 -1", "504 -");
  const asked = {
    line: 1,
    endedMs: Date.parse("2026-11-15T20:31:31.500Z"),
    resolutionMs: 1,
    durationMs: 5_100,
    status: 504,
    method: "GET",
    host: "shop.example",
    target: "/cart?x=1",
    service: undefined,
  };
  const tried = { address: "10.0.0.1", port: 8080, status: 504, durationMs: undefined };
  expect(read(silent)).toEqual({
    entry: { ...asked, tries: [{ ...tried, answered: false }] },
    formats: ["AWS ALB"],
  });
  const answered = line("10.0.0.1:8080", "0.000 5.000 0.000", "502 502");
  expect(read(answered).entry).toEqual({
    ...asked,
    status: 502,
    tries: [{ ...tried, status: 502, answered: true }],
  });
  expect(read(line("-", "-1 -1 -1", "503 -")).entry).toEqual({ ...asked, status: 503, tries: [] });
});
