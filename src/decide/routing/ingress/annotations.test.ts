import { describe, expect, test } from "vitest";
import { type Annotations, read } from "../../../../tests/routing/read-annotations.ts";
import type { RoutePolicy } from "../../route-policy.ts";
import { annotationGroups } from "./annotations.ts";
import type { IngressSettings } from "./ingress-settings.ts";

describe("what is asked for becomes policy", () => {
  const affinity = { cookie: "INGRESSCOOKIE", mode: "balanced" } as const;
  const cors = {
    allowOrigins: ["*"],
    allowMethods: ["GET", "PUT", "POST", "DELETE", "PATCH", "OPTIONS"],
    allowHeaders: [
      "DNT",
      "Keep-Alive",
      "User-Agent",
      "X-Requested-With",
      "If-Modified-Since",
      "Cache-Control",
      "Content-Type",
      "Range",
      "Authorization",
    ],
    exposeHeaders: [],
    allowCredentials: true,
    maxAgeSeconds: 1_728_000,
  };
  test.each<[Annotations, RoutePolicy]>([
    [{ "rewrite-target": "/$1" }, { rewrite: "/$1" }],
    [{ "app-root": "/app1" }, { appRoot: "/app1" }],
    [
      { "permanent-redirect": "https://www.example.com/$request_uri" },
      { redirect: { location: "https://www.example.com/$request_uri", status: 301 } },
    ],
    [
      { "permanent-redirect": "https://www.example.com", "permanent-redirect-code": "308" },
      { redirect: { location: "https://www.example.com", status: 308 } },
    ],
    [{ "temporal-redirect": "/down" }, { redirect: { location: "/down", status: 302 } }],
    [
      { "temporal-redirect": "http://a.example/", "temporal-redirect-code": "307" },
      { redirect: { location: "http://a.example/", status: 307 } },
    ],
    [{ "proxy-body-size": "8m" }, { maxBodyBytes: 8_388_608 }],
    [{ "proxy-body-size": "0" }, { maxBodyBytes: 0 }],
    [{ "proxy-body-size": "1G" }, { maxBodyBytes: 1_073_741_824 }],
    [
      {
        "proxy-connect-timeout": "2",
        "proxy-send-timeout": "90s",
        "proxy-read-timeout": "1h",
      },
      { timeouts: { connectMs: 2_000, sendMs: 90_000, readMs: 3_600_000 } },
    ],
    [{ "proxy-connect-timeout": "500ms" }, { timeouts: { connectMs: 500 } }],
    [{ "proxy-next-upstream-tries": "5" }, { tries: 5 }],
    [{ "proxy-next-upstream-tries": "0" }, { tries: 10 }],
    [{ "proxy-next-upstream": "off", "proxy-next-upstream-tries": "5" }, { tries: 1 }],
    [{ "proxy-next-upstream": "error timeout" }, {}],
    [{ "backend-protocol": "HTTPS" }, { protocol: "https" }],
    [{ "backend-protocol": "GRPCS" }, { protocol: "grpcs" }],
    [{ "backend-protocol": "grpc" }, { protocol: "grpc" }],
    [{ "backend-protocol": "HTTP" }, { protocol: "http" }],
    [
      { "proxy-ssl-verify": "on", "proxy-ssl-name": "db.example" },
      { verifyUpstream: true, upstreamTlsName: "db.example" },
    ],
    [{ "upstream-vhost": "Shop.example:8080" }, { upstreamHost: "Shop.example:8080" }],
    [{ "upstream-vhost": "[2001:db8::1]:80" }, { upstreamHost: "[2001:db8::1]:80" }],
    [{ "load-balance": "round_robin" }, { balance: { method: "round-robin" } }],
    [{ "load-balance": "ewma" }, { balance: { method: "least-latency" } }],
    [
      { "upstream-hash-by": "$binary_remote_addr" },
      { balance: { method: "hash", hashBy: [{ variable: "remote_addr" }] } },
    ],
    [
      { "upstream-hash-by": "$request_uri$host" },
      {
        balance: { method: "hash", hashBy: [{ variable: "request_uri" }, { variable: "host" }] },
      },
    ],
    [
      { "upstream-hash-by": "\u0024{cookie_session}-text", "load-balance": "ewma" },
      {
        balance: { method: "hash", hashBy: [{ variable: "cookie_session" }, { text: "-text" }] },
      },
    ],
    [{ affinity: "cookie" }, { balance: { method: "round-robin", affinity } }],
    [
      { affinity: "cookie", "session-cookie-secure": "false" },
      { balance: { method: "round-robin", affinity } },
    ],
    [
      {
        affinity: "cookie",
        "affinity-mode": "persistent",
        "session-cookie-name": "route",
        "session-cookie-path": "/app",
        "session-cookie-domain": ".example.com",
        "session-cookie-samesite": "none",
        "session-cookie-conditional-samesite-none": "true",
        "session-cookie-max-age": "172800",
        "session-cookie-expires": "3600",
        "session-cookie-secure": "true",
        "session-cookie-change-on-failure": "true",
      },
      {
        balance: {
          method: "round-robin",
          affinity: {
            cookie: "route",
            mode: "persistent",
            path: "/app",
            domain: "example.com",
            maxAgeSeconds: 172_800,
            secure: true,
            sameSite: "None",
            conditionalSameSiteNone: true,
            changeOnFailure: true,
          },
        },
      },
    ],
    [
      { affinity: "cookie", "session-cookie-expires": "3600", "load-balance": "ewma" },
      { balance: { method: "least-latency", affinity: { ...affinity, maxAgeSeconds: 3_600 } } },
    ],
    [{ "session-cookie-name": "route" }, {}],
    [
      { "whitelist-source-range": "10.0.0.0/24, 172.10.0.1,2001:db8::/32" },
      { allowFrom: ["10.0.0.0/24", "172.10.0.1", "2001:db8::/32"] },
    ],
    [
      { "whitelist-source-range": "10.0.0.0/8", "allowlist-source-range": "192.0.2.0/24" },
      { allowFrom: ["192.0.2.0/24"] },
    ],
    [{ "limit-rps": "10" }, { rateLimit: { requestsPerSecond: 10, burst: 50 } }],
    [
      { "limit-rps": "10", "limit-burst-multiplier": "1" },
      { rateLimit: { requestsPerSecond: 10, burst: 10 } },
    ],
    [{ "limit-rpm": "30" }, { rateLimit: { requestsPerSecond: 0.5, burst: 150 } }],
    [{ "limit-rps": "0" }, {}],
    [
      { "limit-rps": "10", "limit-whitelist": "10.0.0.0/8, ::1" },
      { rateLimit: { requestsPerSecond: 10, burst: 50, exceptFrom: ["10.0.0.0/8", "::1"] } },
    ],
    [
      { "limit-rpm": "60", "limit-whitelist": "10.0.0.0/8", "limit-allowlist": "192.0.2.1" },
      { rateLimit: { requestsPerSecond: 1, burst: 300, exceptFrom: ["192.0.2.1"] } },
    ],
    [
      { "denylist-source-range": "10.0.0.0/8, 2001:db8::/32" },
      { denyFrom: ["10.0.0.0/8", "2001:db8::/32"] },
    ],
    [{ "preserve-trailing-slash": "true" }, {}],
    [{ "x-forwarded-prefix": "/app" }, { forwardedPrefix: "/app" }],
    [{ "proxy-buffer-size": "16k", "backend-protocol": "GRPC" }, { protocol: "grpc" }],
    [{ "proxy-request-buffering": "off" }, { streamBodies: true }],
    [{ "proxy-request-buffering": "on" }, {}],
    [{ "proxy-request-buffering": "off", "backend-protocol": "GRPC" }, { protocol: "grpc" }],
    [{ "proxy-buffer-size": "16k" }, {}],
    [{ "proxy-buffer-size": "17k" }, { largeHeaders: true }],
    [
      { "proxy-buffer-size": "128k", "backend-protocol": "HTTPS" },
      { largeHeaders: true, protocol: "https" },
    ],
    [{ "enable-cors": "true" }, { cors }],
    [{ "enable-cors": "false", "cors-max-age": "1" }, {}],
    [
      {
        "enable-cors": "true",
        "cors-allow-origin": "https://*.example.com, http://a.example:8080, null",
        "cors-allow-methods": "get, POST",
        "cors-allow-headers": "X-One,X-Two",
        "cors-expose-headers": "*, X-Three",
        "cors-allow-credentials": "false",
        "cors-max-age": "600",
      },
      {
        cors: {
          allowOrigins: ["https://*.example.com", "http://a.example:8080", "null"],
          allowMethods: ["GET", "POST"],
          allowHeaders: ["X-One", "X-Two"],
          exposeHeaders: ["*", "X-Three"],
          allowCredentials: false,
          maxAgeSeconds: 600,
        },
      },
    ],
    [{ "enable-cors": "true", "cors-allow-origin": "    " }, { cors }],
    [
      { "enable-cors": "true", "cors-allow-origin": "https://a.example, , b+c://d:1," },
      { cors: { ...cors, allowOrigins: ["https://a.example", "b+c://d:1"] } },
    ],
    [
      { "enable-cors": "true", "cors-allow-origin": "https://a.example, *" },
      { cors: { ...cors, allowOrigins: ["*"] } },
    ],
  ])("%j", (annotations, policy) => {
    expect(read(annotations)).toEqual({ policy, problems: [] });
  });

  test("of a long list of networks the first thousand count", () => {
    const networks = Array.from({ length: 1_001 }, (_, n) => `10.0.${n >> 8}.${n & 255}`);
    const { policy, problems } = read({ "allowlist-source-range": networks.join() });
    expect(policy.allowFrom).toHaveLength(1_000);
    expect(problems).toEqual([expect.stringMatching(/only its first 1000 networks are allowed/)]);
  });
});

describe("what changes how routes are made", () => {
  test.each<[Annotations, Partial<IngressSettings>]>([
    [{ "ssl-redirect": "false" }, { sslRedirect: false }],
    [{ "force-ssl-redirect": "true" }, { forceSslRedirect: true }],
    [{ "use-regex": "true" }, { useRegex: true }],
    [
      { "server-alias": "A.example, *.b.example,a.example" },
      { aliases: ["a.example", "*.b.example"] },
    ],
    [{ canary: "true", "canary-weight": "20" }, { canary: { weight: 20, weightTotal: 100 } }],
    [
      { canary: "true", "canary-weight": "1", "canary-weight-total": "1000" },
      { canary: { weight: 1, weightTotal: 1_000 } },
    ],
    [
      { canary: "true", "canary-by-header": "X-Canary", "canary-by-cookie": "canary" },
      { canary: { header: { name: "X-Canary" }, cookie: "canary", weight: 0, weightTotal: 100 } },
    ],
    [
      {
        canary: "true",
        "canary-by-header": "X-User",
        "canary-by-header-value": "me",
        "canary-by-header-pattern": "m.*",
      },
      { canary: { header: { name: "X-User", value: "me" }, weight: 0, weightTotal: 100 } },
    ],
    [
      { canary: "true", "canary-by-header": "X-User", "canary-by-header-pattern": "^m[ae]$" },
      { canary: { header: { name: "X-User", pattern: "^m[ae]$" }, weight: 0, weightTotal: 100 } },
    ],
    [
      { "auth-type": "basic", "auth-secret": "users" },
      {
        basicAuth: {
          namespace: undefined,
          name: "users",
          form: "file",
          realm: "Authentication required",
        },
      },
    ],
    [
      {
        "auth-type": "basic",
        "auth-secret": "shop/users",
        "auth-secret-type": "auth-map",
        "auth-realm": "the shop",
      },
      { basicAuth: { namespace: "shop", name: "users", form: "map", realm: "the shop" } },
    ],
  ])("%j", (annotations, settings) => {
    expect(read(annotations)).toEqual({ policy: {}, settings, problems: [] });
  });
});

test("Lockstep's own prefix goes before ingress-nginx's, and other prefixes mean nothing", () => {
  const annotations = {
    "lockstep.dev/proxy-body-size": "1k",
    "proxy-body-size": "8m",
    "proxy-connect-timeout": "2",
    "example.com/proxy-read-timeout": "nonsense",
    "kubernetes.io/ingress.class": "lockstep",
  };
  expect(read(annotations)).toEqual({
    policy: { maxBodyBytes: 1_024, timeouts: { connectMs: 2_000 } },
    problems: [],
  });
});

test("an empty annotation is as good as none", () => {
  expect(read({ "auth-url": "", "ssl-redirect": "", "whitelist-source-range": "" })).toEqual({
    policy: {},
    problems: [],
  });
});

test("a realm that no header can hold is replaced, and users without auth-type protect nothing", () => {
  const usual = { namespace: undefined, name: "users", form: "file" } as const;
  expect(
    read({ "auth-type": "basic", "auth-secret": "users", "auth-realm": 'the "shop"' }),
  ).toEqual({
    policy: {},
    settings: { basicAuth: { ...usual, realm: "Authentication required" } },
    problems: [
      String.raw`AnnotationIgnored: auth-realm: "the \"shop\"" has characters that a realm cannot hold, so Authentication required is used`,
    ],
  });
  expect(read({ "auth-secret": "users", "auth-realm": "x" })).toEqual({
    policy: {},
    problems: ["auth-secret", "auth-realm"].map(
      (name) => `AnnotationIgnored: ${name}: it needs auth-type, so it is ignored`,
    ),
  });
});

test("no two groups read the same annotation", () => {
  const names = annotationGroups.flatMap((group) => group.names);
  expect(names.length).toBe(new Set(names).size);
});
