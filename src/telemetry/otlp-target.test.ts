import { expect, test } from "vitest";
import { OtlpTargetError, otlpTarget } from "./otlp-target.ts";

const none = { headers: {}, timeoutMs: 10_000 };

test("without a flag or a variable there is no receiver", () => {
  expect(otlpTarget(undefined, { OTEL_EXPORTER_OTLP_ENDPOINT: "" })).toBeUndefined();
});

test("the flag names a server or a whole path, and stands before the variables", () => {
  const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://other:4318" };
  const urls = ["http://jaeger:4318", "http://jaeger:4318/", "https://host/otlp/v1/traces"];
  expect(urls.map((url) => otlpTarget(url, variables))).toEqual([
    { url: "http://jaeger:4318/v1/traces", ...none },
    { url: "http://jaeger:4318/v1/traces", ...none },
    { url: "https://host/otlp/v1/traces", ...none },
  ]);
});

test("the variables are read as other exporters read them", () => {
  const base = "OTEL_EXPORTER_OTLP_ENDPOINT";
  const urls = ["http://c:4318", "http://c/prefix", "http://c/prefix/"].map(
    (url) => otlpTarget(undefined, { [base]: url })?.url,
  );
  expect(urls).toEqual([
    "http://c:4318/v1/traces",
    "http://c/prefix/v1/traces",
    "http://c/prefix/v1/traces",
  ]);
  expect(
    otlpTarget(undefined, {
      [base]: "http://c:4318",
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://traces:9999/x",
      OTEL_EXPORTER_OTLP_HEADERS: "Authorization=Basic%20YTpi, x-team=shop",
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: "x-team=web",
      OTEL_EXPORTER_OTLP_TIMEOUT: "2500",
    }),
  ).toEqual({
    url: "http://traces:9999/x",
    headers: { authorization: "Basic YTpi", "x-team": "web" },
    timeoutMs: 2_500,
  });
});

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://c" };
const needed = "the URL of an OTLP receiver over HTTP, such as http://localhost:4318, not";

test.each([
  ["localhost:4318", {}, `--otlp must be ${needed} "localhost:4318".`],
  ["", {}, `--otlp must be ${needed} "".`],
  [
    undefined,
    { OTEL_EXPORTER_OTLP_ENDPOINT: "collector" },
    `OTEL_EXPORTER_OTLP_ENDPOINT must be ${needed} "collector".`,
  ],
  [
    undefined,
    { ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" },
    "OTEL_EXPORTER_OTLP_PROTOCOL is grpc, and Lockstep speaks OTLP over HTTP. " +
      "Give the receiver's HTTP port with --otlp, usually 4318.",
  ],
  [
    undefined,
    { ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: "secret" },
    "OTEL_EXPORTER_OTLP_HEADERS must be name=value pairs separated by commas.",
  ],
  [
    undefined,
    { ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: "a=%zz" },
    "OTEL_EXPORTER_OTLP_HEADERS has a value that is not percent-encoded.",
  ],
  [
    undefined,
    { ...endpoint, OTEL_EXPORTER_OTLP_TIMEOUT: "10s" },
    "OTEL_EXPORTER_OTLP_TIMEOUT must be a whole number of milliseconds, such as 10000.",
  ],
])(
  "a value that cannot be used is reported with a correct one: %s %j",
  (flag, variables, message) => {
    expect(() => otlpTarget(flag, variables)).toThrow(new OtlpTargetError(message));
  },
);
