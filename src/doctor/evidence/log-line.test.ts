import { expect, test } from "vitest";
import { parseKlogLine } from "./klog.ts";
import { isEndpointsRequest, parseThrottlingLine } from "./throttling-lines.ts";

const plain = "I0412 22:59:59.914517       1 request.go:638] Throttling request took 2.49s";

const parsed = {
  severity: "info",
  month: 4,
  day: 12,
  timeOfDayMs: ((22 * 60 + 59) * 60 + 59) * 1000 + 915,
  file: "request.go",
  line: 638,
  message: "Throttling request took 2.49s",
  values: new Map(),
};

test.each([
  ["as it is", plain],
  ["with its spaces collapsed", plain.replaceAll(/ +/g, " ")],
  ["through journald", `Apr 12 22:59:59 master-0 kube-controller-manager[4711]: ${plain}`],
  ["through docker", `{"log":"${plain}\\n","stream":"stderr","time":"2026-04-12T22:59:59Z"}`],
  ["through CRI", `2026-04-12T22:59:59.914600123Z stderr F ${plain}`],
  ["through kubectl logs --timestamps", `2026-04-12T22:59:59.914600123Z ${plain}`],
  ["with the end of a line of another system", `${plain}\r`],
])("a plain line is read %s", (_way, line) => {
  expect(parseKlogLine(line)).toEqual(parsed);
});

test("a structured line gives its message and values without quotes", () => {
  const line =
    'E1115 08:44:08.234330   13779 controller.go:12] "Failed to \\"sync\\"" pod="shop/web-0" ' +
    'count=3 err="first\\nsecond" URL="https://10.0.0.1/a?b=c d=e"';
  expect(parseKlogLine(line)).toEqual({
    severity: "error",
    month: 11,
    day: 15,
    timeOfDayMs: ((8 * 60 + 44) * 60 + 8) * 1000 + 234,
    file: "controller.go",
    line: 12,
    message: 'Failed to "sync"',
    values: new Map([
      ["pod", "shop/web-0"],
      ["count", "3"],
      ["err", "first\nsecond"],
      ["URL", "https://10.0.0.1/a?b=c d=e"],
    ]),
  });
});

test.each(["", "panic: no header", "{}", '{"log":"no header"}', "I0412 request.go:638] no time"])(
  "a line without a header is none: %s",
  (line) => {
    expect(parseKlogLine(line)).toBeUndefined();
  },
);

const url = "https://10.3.0.1:443/api/v1/namespaces/shop/endpoints/web";
const structured = (reason: string) =>
  `"Waited before sending request" delay="1.2s" reason="${reason}" verb="PUT" URL="${url}"`;

test.each([
  [
    "up to 1.20",
    `Throttling request took 2.489742918s, request: GET:${url}`,
    { waitMs: 2489.742918, verb: "GET", url },
  ],
  [
    "a write-up with names taken out",
    "Throttling request took 2.489742918s, request: GET:https://10.3.0.1:443/api/v1/namespaces/" +
      "[some namespace]/endpoints/[some endpoints]",
    {
      waitMs: 2489.742918,
      verb: "GET",
      url: "https://10.3.0.1:443/api/v1/namespaces/[some namespace]/endpoints/[some endpoints]",
    },
  ],
  [
    "1.21 to 1.32",
    `Waited for 249.5ms due to client-side throttling, not priority and fairness, request: PUT:${url}`,
    { waitMs: 249.5, verb: "PUT", url },
  ],
  [
    "1.24 to 1.32, a retried request",
    `Waited for 1m1.5s, retries: 1, retry-after: 1s - request: PUT:${url}`,
    { waitMs: 61_500, verb: "PUT", url },
  ],
  [
    "since 1.33",
    structured("client-side throttling, not priority and fairness"),
    { waitMs: 1200, verb: "PUT", url },
  ],
  ["since 1.33, a retried request", structured("retries: 1"), { waitMs: 1200, verb: "PUT", url }],
  ["another line", "Starting endpoint controller", undefined],
  ["no duration", `Throttling request took ages, request: GET:${url}`, undefined],
])("a throttling line is read: %s", (_version, message, request) => {
  const line = parseKlogLine(`I0412 22:59:59.914517       1 request.go:638] ${message}`);
  expect(line && parseThrottlingLine(line)).toEqual(request);
});

test.each([
  ["/api/v1/namespaces/shop/endpoints/web", true],
  ["/api/v1/namespaces/shop/endpoints", true],
  ["/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/web-x7?timeout=10s", true],
  ["/api/v1/namespaces/endpoints-test/pods/web", false],
  ["/api/v1/namespaces/shop/serviceaccounts/endpoint-controller", false],
  ["/apis/apps/v1?timeout=32s", false],
])("%s is about endpoints: %s", (path, expected) => {
  expect(isEndpointsRequest({ waitMs: 1, verb: "GET", url: `https://x${path}` })).toBe(expected);
});
