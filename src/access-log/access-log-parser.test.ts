import { describe, expect, it } from "vitest";
import type { AccessLogEntry } from "./access-log-entry.ts";
import { AccessLogParser, type AccessLogParserOptions, lineBytesMax } from "./access-log-parser.ts";
import { LogFormat } from "./log-format.ts";

/** 2026-11-15T20:31:31Z. */
const second = 1_794_774_691_000;

const combined =
  '203.0.113.9 - - [15/Nov/2026:20:31:31 +0000] "GET /cart?x=1 HTTP/1.1" 200 12 "-" "curl/8"';
const tried =
  "96 0.412 [shop-web-80] [] 10.0.0.1:8080, 10.0.0.2:8080 0, 12 0.400, 0.010 502, 200 4f1c";

function parse(lines: readonly string[], options?: AccessLogParserOptions) {
  const parser = new AccessLogParser(options);
  const entries = lines.map((text, index) =>
    parser.read({ number: index + 1, text, isCut: text.length >= lineBytesMax }),
  );
  return { entries, report: parser.report };
}

function only(line: string, options?: AccessLogParserOptions): AccessLogEntry | undefined {
  return parse([line], options).entries[0];
}

const request = {
  line: 1,
  endedMs: second,
  resolutionMs: 1_000,
  durationMs: undefined,
  status: 200,
  method: "GET",
  host: undefined,
  target: "/cart?x=1",
  service: undefined,
  tries: [],
};

/** Of a format without the endpoints that were tried. */
const triesUnknown = { triesUnknown: "the log does not name the endpoints that were tried" };

const twice = [
  { address: "10.0.0.1", port: 8080, status: 502, durationMs: 400, answered: false },
  { address: "10.0.0.2", port: 8080, status: 200, durationMs: 10, answered: true },
];

const routed = {
  ...request,
  durationMs: 412,
  service: "shop/web",
  backend: "shop-web-80",
  tries: twice,
};

describe("formats of other proxies", () => {
  const start = '[2026-11-15T20:31:30.500Z] "GET /cart?x=1 HTTP/1.1" 503';
  const envoy = (flags: string) =>
    `${start} ${flags} 0 91 1500 - "203.0.113.9" "curl/8" "cc21" "shop.example" "10.0.0.1:8080"`;
  const asked = {
    ...request,
    endedMs: second + 1_000,
    resolutionMs: 1,
    durationMs: 1_500,
    status: 503,
    host: "shop.example",
  };
  const peer = { address: "10.0.0.1", port: 8080, status: 503, durationMs: undefined };

  it("reads Envoy's, whose flags say whether the endpoint answered", () => {
    expect(only(envoy("-"))).toEqual({ ...asked, tries: [{ ...peer, answered: true }] });
    expect(only(envoy("UF,URX"))).toEqual({ ...asked, tries: [{ ...peer, answered: false }] });
  });

  it("reads Istio's, which names the service", () => {
    const details = 'UF upstream_reset{connection_failure} - "delayed connect error: 111"';
    const rest =
      "outbound|80||web.shop.svc.cluster.local 10.1.1.9:41854 10.1.1.9:80 10.1.1.1:376 - default";
    const line = envoy(details).concat(` ${rest}`);
    const tries = [{ ...peer, answered: false }];
    expect(only(line)).toEqual({ ...asked, service: "shop/web", tries });
  });

  it("reads Traefik's, which says when a request began", () => {
    const line = `${combined} 42 "web@kubernetes" "http://10.0.0.1:8080" 30003ms`;
    const tries = [{ ...peer, status: 200 }];
    const endedMs = second + 30_003;
    expect(only(line)).toEqual({ ...request, endedMs, durationMs: 30_003, tries });
  });

  it("reads APISIX's, which names the host first", () => {
    const start =
      '203.0.113.9 - - [15/Nov/2026:20:31:31 +0000] shop.example "GET /cart?x=1 HTTP/1.1"';
    const line = `${start} 200 12 0.412 "-" "curl/8" 10.0.0.1:8080, 10.0.0.2:8080 502, 200 0.400, 0.010`;
    const { answered: _unsaid, ...first } = twice[0] ?? {};
    const read = { ...request, durationMs: 412, host: "shop.example" };
    expect(only(line)).toEqual({ ...read, tries: [first, twice[1]] });
    expect(only(`${line} "http://web.shop/cart?x=1"`)).toEqual(only(line));
  });

  it("names the fields that HAProxy's lacks", () => {
    const line =
      "lb haproxy[1]: 10.0.1.2:33317 [03/Mar/2026:09:01:45.655] http-in web/SRV_1 " +
      '10/0/30/-1/109 503 2750 - - SC-- 1/1/1/1/3 0/0 "GET / HTTP/1.1"';
    const { problem } = parse([line]).report.example ?? {};
    expect(problem).toContain("has server names instead of addresses");
    const advised = {
      start_time: "15/Nov/2026:20:31:31 +0000",
      duration_ms: 109,
      status: 503,
      upstream_addr: "10.0.0.1:8080",
    };
    const read = { ...request, endedMs: second + 109, durationMs: 109, status: 503 };
    const unasked = { method: undefined, target: undefined };
    expect(only(JSON.stringify(advised))).toEqual({ ...read, ...unasked, tries: [peer] });
  });

  it("writes addresses of IPv6 as Kubernetes does", () => {
    const line = (address: string) => `${combined} 42 "web" "http://[${address}]:8080" 3ms`;
    const read = (address: string) => only(line(address))?.tries[0]?.address;
    expect(["FD00:0:0::000a", "fd00::a", "::ffff:10.0.0.1"].map(read)).toEqual([
      "fd00::a",
      "fd00::a",
      "10.0.0.1",
    ]);
  });
});

describe("text formats", () => {
  it("reads nginx's combined format, and counts that it names no endpoint", () => {
    const { entries, report } = parse([combined]);
    expect(entries).toEqual([{ ...request, ...triesUnknown }]);
    expect(report).toEqual({
      lines: 1,
      entries: new Map([["nginx combined", 1]]),
      otherLines: 0,
      notUnderstood: 0,
      example: undefined,
      withoutEndpoints: 1,
    });
  });

  it("reads ingress-nginx's format of every release", () => {
    const withTwoAddresses = combined.replace("9 - -", "9 - [203.0.113.9] - -");
    const beforeCanaries = tried.replace(" []", "");
    const lines = [
      `${combined} ${tried}`,
      `${combined} ${beforeCanaries}`,
      `${withTwoAddresses} ${tried}`,
      `${withTwoAddresses} ${beforeCanaries}`,
    ];
    const { entries, report } = parse(lines);
    expect(entries).toEqual(lines.map((_, index) => ({ ...routed, line: index + 1 })));
    expect([report.notUnderstood, report.withoutEndpoints]).toEqual([0, 0]);
  });

  it("reads tries of two groups, unix sockets, dashes and requests without a try", () => {
    const with_ = (upstreams: string) =>
      only(`${combined} 96 0.4 [shop-web-80] [] ${upstreams} 4f`);
    expect(with_("10.0.0.1:80 : [fd00::1]:80 0 : 9 0.1 : 0.2 404 : 200")?.tries).toEqual([
      { address: "10.0.0.1", port: 80, status: 404, durationMs: 100, answered: true },
      {
        address: "fd00::1",
        port: 80,
        status: 200,
        durationMs: 200,
        answered: true,
        isRedirected: true,
      },
    ]);
    expect(with_("unix:/run/a.sock, 10.0.0.1:80 0, 3 -, 0.2 -, -")?.tries).toEqual([
      { address: "10.0.0.1", port: 80, status: undefined, durationMs: 200, answered: true },
    ]);
    expect(with_("upstream_balancer 0 - 502")?.tries).toEqual([]);
    expect(with_("- - - -")?.tries).toEqual([]);
    expect(with_("10.0.0.1:80 :  0 :  0.1 :  502 : ")?.tries).toEqual([
      { address: "10.0.0.1", port: 80, status: 502, durationMs: 100, answered: false },
    ]);
  });

  it("tells an endpoint's own 502 from one that the proxy made", () => {
    const line = (length: number) =>
      `${combined} 96 0.4 [shop-web-80] [] 10.0.0.1:80 ${length} 0.1 502 4f`;
    expect([only(line(0))?.tries[0]?.answered, only(line(19))?.tries[0]?.answered]).toEqual([
      false,
      true,
    ]);
  });

  it("reads labelled values after the combined ones, shortened or not", () => {
    const { tries: _, ...rest } = request;
    const labels =
      'rt=0.412 uct="0.001" ua="10.0.0.1:80, 10.0.0.2:80" us="502, 200" urt="0.4, 0.01"';
    expect(only(`${combined} "203.0.113.7" "shop.example" ${labels}`)).toEqual({
      ...rest,
      durationMs: 412,
      tries: [
        { address: "10.0.0.1", port: 80, status: 502, durationMs: 400 },
        { address: "10.0.0.2", port: 80, status: 200, durationMs: 10, answered: true },
      ],
    });
    expect(only(`${combined} upstream_addr=10.0.0.1:80 upstream_status=200`)?.tries).toEqual([
      { address: "10.0.0.1", port: 80, status: 200, durationMs: undefined, answered: true },
    ]);
  });

  it("reads escaped text, and leaves escaped what is more than text to a terminal", () => {
    const line = combined.replace("/cart?x=1", "/\\xD1\\x8F\\x22\\x1B[2J");
    expect(only(line)?.target).toBe("/\\xD1\\x8F\\x22\\x1B[2J");
    expect(only(line.replace("\\x1B[2J", ""))?.target).toBe('/я"');
  });

  it("reads quotes that a proxy without escaping has left in a value", () => {
    const line = `${combined.replace('"curl/8"', '"my "own" agent"')} ${tried}`;
    expect(only(line)).toEqual(routed);
  });

  it("reads a format that it is given, in place of guessing", () => {
    const format = new LogFormat({
      name: "ours",
      format:
        "log_format ours '$msec|$host|$request_method|$request_uri|$status|' '$upstream_addr';",
    });
    expect(only("1794774691.123|shop.example|GET|/cart|504|10.0.0.1:80", { format })).toEqual({
      ...request,
      endedMs: second + 123,
      resolutionMs: 1,
      status: 504,
      host: "shop.example",
      target: "/cart",
      tries: [{ address: "10.0.0.1", port: 80, status: 504, durationMs: undefined }],
    });
    expect(only(combined, { format })).toEqual({ ...request, ...triesUnknown });
  });
});

describe("the service", () => {
  const named = (name: string, options?: AccessLogParserOptions) =>
    only(`${combined} ${tried.replace("shop-web-80", name)}`, options)?.service;

  it("is not guessed where a name could mean several", () => {
    expect([named("shop-web-80"), named("a-b-c-80"), named("upstream-default-backend")]).toEqual([
      "shop/web",
      undefined,
      undefined,
    ]);
    const isService = (service: string) => service === "a/b-c";
    expect([named("a-b-c-80", { isService }), named("shop-web-80", { isService })]).toEqual([
      "a/b-c",
      undefined,
    ]);
  });

  it("is what the log calls it, where it does", () => {
    const service = (fields: object) => {
      const time = "2026-11-15T20:31:31Z";
      return only(JSON.stringify({ time, status: 200, ...fields }))?.service;
    };
    expect([
      service({ service: "shop/web:http" }),
      service({ service: "shop-web-80" }),
      service({ namespace: "a", service_name: "b-c", proxy_upstream_name: "a-b-c-80" }),
      service({ ServiceName: "shop-web-80@kubernetes" }),
      service({ kubernetes: { namespace: "edge" }, service_name: "web" }),
    ]).toEqual(["shop/web", "shop/web", "a/b-c", "shop/web", undefined]);
  });

  it("is the canary's where one took the request", () => {
    expect(only(`${combined} ${tried.replace("[]", "[shop-next-80]")}`)?.service).toBe("shop/next");
  });
});

describe("JSON", () => {
  it("reads Lockstep's own log", () => {
    const line = JSON.stringify({
      time: "2026-11-15T20:31:31+00:00",
      epochSeconds: 1_794_774_691.25,
      id: "4f1c",
      client: "203.0.113.9",
      method: "GET",
      host: "shop.example",
      target: "/cart?x=1",
      status: 200,
      seconds: 0.412,
      service: "shop/web:80",
      endpoint: "10.0.0.2:8080",
      upstream: "10.0.0.1:8080, 10.0.0.2:8080",
      upstreamStatus: "502, 200",
      headerSeconds: "-, 0.009",
      responseSeconds: "0.400, 0.010",
    });
    const { backend: _, ...entry } = routed;
    expect(only(line)).toEqual({
      ...entry,
      endedMs: second + 250,
      resolutionMs: 1,
      host: "shop.example",
    });
  });

  it("reads nginx's variables under their own and under common names", () => {
    const names = [
      { time_iso8601: "2026-11-15T20:31:31+00:00", request_time: "0.412", upstream_addr: "" },
      { "@timestamp": "2026-11-15T20:31:31.000Z", requestTime: 0.412, upstreamAddr: "-" },
      { ts: 1_794_774_691, "request-time": 0.412 },
      { nginx: { access: { msec: "1794774691.000", request_time: "0.412" } } },
    ];
    const asked = { status: "200", request: "GET /cart?x=1 HTTP/2.0" };
    const { entries } = parse(names.map((fields) => JSON.stringify({ ...asked, ...fields })));
    expect(entries).toEqual(
      [1_000, 1, 1_000, 1].map((resolutionMs, index) => ({
        ...request,
        line: index + 1,
        resolutionMs,
        durationMs: 412,
        ...(index >= 2 && triesUnknown),
      })),
    );
  });

  it("reads the example of ingress-nginx's documentation", () => {
    const line = JSON.stringify({
      time: "2026-11-15T20:31:31+00:00",
      remote_addr: "203.0.113.9",
      request_id: "4f1c",
      bytes_sent: 12,
      request_time: 0.412,
      status: 200,
      vhost: "shop.example:8443",
      path: "/cart",
      request_query: "x=1",
      duration: 0.412,
      method: "GET",
    });
    const read = { ...request, durationMs: 412, host: "shop.example" };
    expect(only(line)).toEqual({ ...read, ...triesUnknown });
  });

  it('distinguishes "no endpoint was tried" from an unknown number of tries', () => {
    const why = (fields: object) => {
      const time = "2026-11-15T20:31:31Z";
      return only(JSON.stringify({ time, status: 503, ...fields }))?.triesUnknown;
    };
    expect([
      why({ upstream_addr: "-" }),
      why({ upstream_host: null }),
      why({ DownstreamStatus: 503 }),
      why({ upstream_addr: "0.0.0.1:80" }),
      why({ upstream: "shop_web" }),
      why({}),
    ]).toEqual([
      ...Array.from({ length: 4 }, () => undefined),
      "the log names shop_web, which is no endpoint's address",
      triesUnknown.triesUnknown,
    ]);
  });

  it("reports a time without a zone as a guess, unless the carrier's time shows the zone", () => {
    const line = JSON.stringify({ time: "2026-11-15 22:31:31", status: 200, upstream: "-" });
    const time = (text: string) => {
      const { endedMs, isZoneGuessed } = only(text) ?? {};
      return { endedMs, isZoneGuessed };
    };
    expect([time(line), time(`2026-11-15T20:31:32.9Z stdout F ${line}`)]).toEqual([
      { endedMs: second + 7_200_000, isZoneGuessed: true },
      { endedMs: second, isZoneGuessed: undefined },
    ]);
  });

  it("reads Envoy's log, which says when a request began", () => {
    const line = JSON.stringify({
      start_time: "2026-11-15T20:31:31.100Z",
      method: "GET",
      path: "/cart?x=1",
      response_code: 200,
      response_flags: "-",
      duration: 412,
      upstream_host: "10.0.0.2:8080",
      upstream_cluster: "outbound|80||web.shop.svc.cluster.local",
      authority: "shop.example",
    });
    expect(only(line)).toEqual({
      ...request,
      endedMs: second + 512,
      resolutionMs: 1,
      durationMs: 412,
      host: "shop.example",
      service: "shop/web",
      tries: [
        { address: "10.0.0.2", port: 8080, status: 200, answered: true, durationMs: undefined },
      ],
    });
  });
});

it("reads Traefik's log in JSON", () => {
  const line = JSON.stringify({
    ClientHost: "203.0.113.9",
    DownstreamStatus: 200,
    Duration: 412_345_678,
    OriginDuration: 400_000_000,
    OriginStatus: 200,
    RequestHost: "shop.example",
    RequestMethod: "GET",
    RequestPath: "/cart?x=1",
    ServiceAddr: "10.0.0.2:8080",
    ServiceName: "shop-web-80@kubernetes",
    StartUTC: "2026-11-15T20:31:30.6Z",
    time: "2026-11-15T20:31:31Z",
  });
  expect(only(line)).toEqual({
    ...request,
    endedMs: second + 12,
    resolutionMs: 100,
    durationMs: 412,
    host: "shop.example",
    service: "shop/web",
    backend: "shop-web-80@kubernetes",
    tries: [
      { address: "10.0.0.2", port: 8080, status: 200, durationMs: undefined, answered: true },
    ],
  });
});

describe("what others put around a line", () => {
  const line = `${combined} ${tried}`;
  const stamp = "2026-11-15T20:31:31.412345678Z";
  const exact = { ...routed, endedMs: second + 412, resolutionMs: 1 };

  it("is taken off, and its time says where in the second the request ended", () => {
    const wrapped = [
      `${stamp} stdout F ${line}`,
      `${stamp} ${line}`,
      `[pod/ingress-nginx-controller-7d/controller] ${stamp} ${line}`,
      JSON.stringify({ log: `${line}\n`, stream: "stdout", time: stamp }),
      JSON.stringify({ "@timestamp": stamp, message: line, kubernetes: { namespace: "edge" } }),
    ];
    const { entries } = parse(wrapped);
    expect(entries).toEqual(wrapped.map((_, index) => ({ ...exact, line: index + 1 })));
  });

  it("is taken off where it says nothing more exact, or nothing that fits", () => {
    const wrapped = [
      `Nov 15 20:31:31 node-1 nginx[812]: ${line}`,
      `<190>Nov 15 20:31:31 node-1 nginx: ${line}`,
      `2026-11-15T20:31:31+0000 node-1 nginx[812]: ${line}`,
      `web-1  | ${line}`,
      `2026-11-15T20:31:33.9Z stdout F ${line}`,
    ];
    const { entries } = parse(wrapped);
    expect(entries).toEqual(wrapped.map((_, index) => ({ ...routed, line: index + 1 })));
  });

  it("is joined where a runtime has cut the line", () => {
    const { entries, report } = parse([
      `${stamp} stdout P ${line.slice(0, 40)}`,
      `${stamp} stdout P ${line.slice(40, 90)}`,
      `${stamp} stdout F ${line.slice(90)}`,
    ]);
    expect(entries).toEqual([undefined, undefined, { ...exact, line: 3 }]);
    expect(report.notUnderstood).toBe(0);
  });

  it("is not joined without end", () => {
    const piece = `${stamp} stdout P ${"x".repeat(lineBytesMax / 2)}`;
    const { entries, report } = parse([piece, piece, piece, `${stamp} stdout F ${line}`, line]);
    expect(entries.map((entry) => entry?.line)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      5,
    ]);
    expect([report.notUnderstood, report.example?.problem]).toEqual([
      1,
      "it is longer than 65536 bytes",
    ]);
  });
});

describe("values that no proxy means", () => {
  const json = (values: object) =>
    only(JSON.stringify({ time: "2026-11-15T20:31:31Z", status: 502, ...values }));

  it("name no service, whatever there is in them", () => {
    expect(json({ proxy_upstream_name: `${"a-".repeat(30_000)}80` })?.service).toBe(undefined);
    expect(json({ service: `shop/${"a".repeat(64)}` })?.service).toBe(undefined);
    expect(json({ service: "shop/\u001B[2Jweb" })?.service).toBe(undefined);
    expect(json({ namespace: "shop", service_name: "web\u202E" })?.service).toBe(undefined);
  });

  it("are no durations: the time that a request began stays a time", () => {
    expect(json({ request_time: "99999999999999999999.9" })?.durationMs).toBe(undefined);
    expect(json({ duration: 9_999_999_999_999, response_flags: "-" })?.durationMs).toBe(undefined);
    const tries = json({ upstream_addr: "10.0.0.1:80", upstream_response_time: "9".repeat(30) });
    expect(tries?.tries[0]?.durationMs).toBe(undefined);
  });
});

describe("lines that are no requests", () => {
  it("are counted: a pod's other lines apart from what is not understood", () => {
    const { entries, report } = parse([
      "-------------------------------------------------------------------------------",
      "I1115 20:31:31.000000       7 controller.go:190] Configuration changes detected",
      '2026/11/15 20:31:31 [error] 31#31: *1 connect() failed, upstream: "http://10.0.0.1:80/"',
      "",
      combined,
      "\u0000\u001B]0;rubbish\u0007",
      "{]",
      '{"status":200}',
      "x".repeat(lineBytesMax),
    ]);
    expect(entries.flatMap((entry) => entry?.line ?? [])).toEqual([5]);
    expect(report).toMatchObject({
      lines: 9,
      otherLines: 3,
      notUnderstood: 4,
      example: {
        line: 6,
        excerpt: "\\x00\\x1b]0;rubbish\\x07",
        problem:
          "expected nginx's combined format, ingress-nginx's, Envoy's, Traefik's, APISIX's, AWS " +
          "ALB's, or a JSON object with nginx's variables; give the proxy's log_format with " +
          "--log-format if it has another",
      },
    });
  });

  it("of Lockstep's own log are known from the access log beside them", () => {
    const request =
      '{"time":"2026-11-15T20:31:31+00:00","epochSeconds":1794947491.5,"status":504,' +
      '"seconds":1.5,"service":"d/web:80","upstream":"10.0.0.1:80","upstreamStatus":"504"}';
    const own =
      '{"level":"warn","time":"2026-11-15T20:31:31.000000Z","message":"answered","status":503,' +
      '"upstream":"10.0.0.9:80"}';
    const time = "2026-11-15T20:31:31.123456789Z";
    const greeting = [
      "● serving http://0.0.0.0:8080 for Ingress class web",
      "  pods from a; routes from a",
    ];
    const lines = [
      own,
      request,
      ...greeting,
      "  endpoints and reasons: http://127.0.0.1:10260/state",
    ];
    const { entries, report } = parse([
      ...lines,
      ...lines.map((line) => `${time} ${line}`),
      ...lines.map((line) => `${time} stderr F ${line}`),
      ...lines.map((line) => JSON.stringify({ log: `${line}\n`, stream: "stderr", time })),
    ]);
    expect(entries.flatMap((entry) => entry?.status ?? [])).toEqual([504, 504, 504, 504]);
    expect(report).toMatchObject({ lines: 20, otherLines: 16, notUnderstood: 0 });
  });

  it("say what is missing in them", () => {
    expect(parse(['{"status":200}']).report.example?.problem).toMatch(
      /^it has no time that can be read; expected/,
    );
    expect(parse(['{"time":"2026-11-15T20:31:31Z"}']).report.example?.problem).toMatch(
      /^it has no status of three digits; expected/,
    );
    expect(parse(["x".repeat(lineBytesMax)]).report.example).toEqual({
      line: 1,
      excerpt: `${"x".repeat(120)}…`,
      problem: "it is longer than 65536 bytes",
    });
  });
});
