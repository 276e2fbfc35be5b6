import { describe, expect, test } from "vitest";
import { AccessLogParser } from "./access-log-parser.ts";

const endedMs = Date.parse("2026-11-15T20:31:31.500Z");

function read(object: object) {
  return new AccessLogParser().read({ number: 1, text: JSON.stringify(object), isCut: false });
}

const tried = { address: "10.0.0.1", port: 8080, status: 502, durationMs: 1 };

describe("a JSON line", () => {
  test("may have a variable's name spread over objects, and lists of what was tried", () => {
    const upstream = {
      addr: ["10.0.0.1:8080", "10.0.0.2:8080"],
      status: [502, 504],
      response: { time: ["0.001", "3.000"] },
    };
    const time = "2026-11-15T20:31:31.500Z";
    expect(read({ time, status: 504, request: { time: 3.2 }, upstream })).toMatchObject({
      endedMs,
      durationMs: 3_200,
      status: 504,
      tries: [tried, { address: "10.0.0.2", port: 8080, status: 504, durationMs: 3_000 }],
    });
  });

  test("of Filebeat's has its own time beside others", () => {
    const upstream = { response: { time: 0.001, status_code: 502 } };
    const nginx = { upstream, upstream_address_list: ["10.0.0.1:8080"] };
    expect(
      read({
        "@timestamp": "2026-11-15T20:31:31.500Z",
        http: { request: { method: "GET" }, response: { status_code: 502 } },
        nginx: { ingress_controller: { ...nginx, http: { request: { time: 0.002 } } } },
      }),
    ).toMatchObject({ endedMs, durationMs: 2, status: 502, method: "GET", tries: [tried] });
  });

  test("of Kong names what was tried, and when a request began", () => {
    expect(
      read({
        started_at: endedMs - 5_000,
        latencies: { request: 5_000, kong: 1, proxy: -1 },
        response: { status: 502 },
        request: { method: "GET", uri: "/a", headers: { host: "shop.example" } },
        tries: [
          { ip: "fd00::1", port: 8080, state: "failed", code: 502 },
          { ip: "10.0.0.1", port: 8080 },
        ],
      }),
    ).toMatchObject({
      endedMs,
      durationMs: 5_000,
      host: "shop.example",
      tries: [
        { address: "fd00::1", port: 8080 },
        { address: "10.0.0.1", port: 8080 },
      ],
    });
  });

  test("of Contour has Envoy's beginning under another name, and the service in its cluster", () => {
    expect(
      read({
        "@timestamp": "2026-11-15T20:31:01.500Z",
        response_code: 504,
        response_flags: "UT",
        duration: 30_000,
        upstream_host: "10.0.0.1:8080",
        upstream_cluster: "shop/web/80/da39a3ee5e",
      }),
    ).toMatchObject({ endedMs, durationMs: 30_000, service: "shop/web" });
  });

  const inner = '{"msec":"1794774691.500","status":502,"upstream_addr":"10.0.0.1:8080"}';
  test.each([
    { labels: { status: "x" }, line: inner, timestamp: "2026-11-15T20:31:32Z" },
    { textPayload: `${inner}\n`, resource: { labels: { status: "1" } }, severity: "INFO" },
    { _index: "logs", _source: { "@timestamp": "2026-11-15T20:31:32Z", message: inner } },
    { preview: false, result: { _raw: inner, _time: "2026-11-15T20:31:32Z" } },
    { status: "info", message: inner },
  ])("may be what a store of logs has wrapped around another: %j", (wrapped) => {
    expect(read(wrapped)).toMatchObject({ endedMs, status: 502, tries: [{ port: 8080 }] });
  });
});
