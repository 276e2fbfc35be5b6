import { describe, expect, test } from "vitest";
import { type Annotations, read } from "../../../../tests/routing/read-annotations.ts";
import type { RoutePolicy } from "../../route-policy.ts";

describe("what is wrong is ignored alone and named", () => {
  const tries =
    "retries happen only after connection errors, and after timeouts of idempotent requests; ";
  test.each<[Annotations, RoutePolicy, string]>([
    [
      { "ssl-redirect": "maybe" },
      {},
      'ssl-redirect: "maybe" is neither "true" nor "false", so it is ignored',
    ],
    [
      { "rewrite-target": "$1" },
      {},
      'rewrite-target: "$1" is not a path such as "/app/$1", so it is ignored',
    ],
    [
      { "rewrite-target": "/a\nb" },
      {},
      'rewrite-target: "/a\\nb" is not a path such as "/app/$1", so it is ignored',
    ],
    [
      { "app-root": "//evil.example" },
      {},
      'app-root: "//evil.example" is not a path such as "/app", so it is ignored',
    ],
    [
      { "permanent-redirect": "javascript:alert(1)" },
      {},
      'permanent-redirect: "javascript:alert(1)" is not an address such as "https://www.example.com/", so nothing is redirected',
    ],
    [
      { "permanent-redirect": "/a", "permanent-redirect-code": "200" },
      { redirect: { location: "/a", status: 301 } },
      'permanent-redirect-code: "200" is not one of 301, 302, 303, 307, 308, so 301 is used',
    ],
    [
      { "permanent-redirect": "/a", "temporal-redirect": "/b" },
      { redirect: { location: "/b", status: 302 } },
      "permanent-redirect: temporal-redirect overrides it, so it is ignored",
    ],
    [
      { "proxy-body-size": "8x" },
      {},
      'proxy-body-size: "8x" is not a size of at most 1099511627776 bytes, such as "8m", so it is ignored',
    ],
    [
      { "proxy-connect-timeout": "76", "proxy-read-timeout": "5" },
      { timeouts: { readMs: 5_000 } },
      'proxy-connect-timeout: "76" is not a time from 0.001 s to 75 s, such as "60" or "60s", so it is ignored',
    ],
    [
      { "proxy-next-upstream": "error http_503 non_idempotent", "proxy-next-upstream-tries": "2" },
      { tries: 2 },
      `proxy-next-upstream: ${tries}not supported: http_503, non_idempotent`,
    ],
    [
      { "proxy-next-upstream-tries": "1000" },
      {},
      'proxy-next-upstream-tries: "1000" is not a whole number from 0 to 10, so it is ignored',
    ],
    [
      { "backend-protocol": "FCGI" },
      {},
      'backend-protocol: "FCGI" is not one of http, https, grpc, grpcs, so HTTP is used',
    ],
    [
      { "upstream-vhost": "a b" },
      {},
      'upstream-vhost: "a b" is not a host name such as "shop.example" or "shop.example:81", so it is ignored',
    ],
    [
      { "load-balance": "chash" },
      {},
      'load-balance: "chash" is not one of round_robin, ewma, so round_robin is used',
    ],
    [
      { "upstream-hash-by": "$document_root" },
      {},
      'upstream-hash-by: "$document_root" is not a variable that can be hashed, so it is ignored',
    ],
    [
      { "upstream-hash-by": "$uri;x" },
      {},
      'upstream-hash-by: ";x" cannot be read, so it is ignored',
    ],
    [
      { "upstream-hash-by": "text" },
      {},
      'upstream-hash-by: "text" names no variable such as "$request_uri", so it is ignored',
    ],
    [
      { affinity: "cookie", "session-cookie-path": "/;domain=evil" },
      {
        balance: { method: "round-robin", affinity: { cookie: "INGRESSCOOKIE", mode: "balanced" } },
      },
      'session-cookie-path: "/;domain=evil" is not a path such as "/app", so it is ignored',
    ],
    [
      { "whitelist-source-range": "10.0.0.0/8, nonsense" },
      { allowFrom: ["10.0.0.0/8"] },
      'whitelist-source-range: "nonsense" is not an address or network such as "10.0.0.0/8", so that item is ignored',
    ],
    [
      { "limit-rps": "2", "limit-whitelist": "10.0.0.0/99" },
      { rateLimit: { requestsPerSecond: 2, burst: 10 } },
      'limit-whitelist: "10.0.0.0/99" is not an address or network such as "10.0.0.0/8", so that item is ignored',
    ],
    [
      { "proxy-buffer-size": "256k" },
      { largeHeaders: true },
      "proxy-buffer-size: the maximum for response headers is 128 KiB, so 128 KiB is used",
    ],
    [
      { "proxy-buffer-size": "64k", "backend-protocol": "GRPC" },
      { protocol: "grpc" },
      "proxy-buffer-size: not supported for gRPC endpoints and for endpoints with " +
        "certificate verification, so it is ignored",
    ],
    [
      { "x-forwarded-prefix": "/app", "backend-protocol": "HTTPS", "proxy-ssl-verify": "on" },
      { protocol: "https", verifyUpstream: true },
      "x-forwarded-prefix: not supported for gRPC endpoints and for endpoints with " +
        "certificate verification, so it is ignored",
    ],
    [
      { "proxy-request-buffering": "off", "backend-protocol": "https", "proxy-ssl-verify": "on" },
      { protocol: "https", verifyUpstream: true },
      "proxy-request-buffering: not supported for gRPC endpoints and for endpoints with " +
        "certificate verification, so it is ignored",
    ],
    [
      { "x-forwarded-prefix": "/a b" },
      {},
      'x-forwarded-prefix: "/a b" is not a path such as "/app", so it is ignored',
    ],
    [
      { "affinity-canary-behavior": "legacy" },
      {},
      'affinity-canary-behavior: "legacy" is not one of sticky, so sticky is used',
    ],
    [
      { "limit-rps": "2", "limit-rpm": "30" },
      { rateLimit: { requestsPerSecond: 2, burst: 10 } },
      "limit-rpm: limit-rps overrides it, so it is ignored",
    ],
    [{ "canary-weight": "10" }, {}, 'canary-weight: it needs canary: "true", so it is ignored'],
    [
      { "server-alias": "~^www\\d+" },
      {},
      'server-alias: "~^www\\\\d+" is not a host name, so it is ignored',
    ],
    [
      { "mirror-target": "https://a.example" },
      {},
      "mirror-target: not supported, so it is ignored",
    ],
    [
      { "proxy-bodysize": "8m" },
      {},
      "proxy-bodysize: unknown annotation, ignored; did you mean proxy-body-size?",
    ],
  ])("%j", (annotations, policy, problem) => {
    const { policy: found, problems } = read(annotations);
    expect({ policy: found, problems }).toEqual({
      policy,
      problems: [`AnnotationIgnored: ${problem}`],
    });
  });

  test("a snippet has a reason of its own", () => {
    const { policy, problems } = read({ "configuration-snippet": "return 200;" });
    expect({ policy, problems }).toEqual({
      policy: {},
      problems: [
        "SnippetIgnored: configuration-snippet: snippets are not supported, for security: " +
          "text of an object never becomes nginx configuration",
      ],
    });
  });

  test.each<[string, string[], string[]]>([
    ["a b", [], ['"a b" is not an origin', "it has no valid origin, so no origin is allowed"]],
    [",", [], ["it has no valid origin, so no origin is allowed"]],
    ["a:80, https://b.example, c.example", ["https://b.example"], ['"a:80"', '"c.example"']],
    ["*, a.example", ["*"], ['"a.example"']],
  ])(
    "an origin that is wrong allows no page, and leaves others alone: %s",
    (text, allowed, said) => {
      const { policy, problems } = read({ "enable-cors": "true", "cors-allow-origin": text });
      expect(policy.cors?.allowOrigins).toEqual(allowed);
      expect(problems).toEqual(
        said.map((what) =>
          expect.stringContaining(`AnnotationIgnored: cors-allow-origin: ${what}`),
        ),
      );
    },
  );
});

describe("a route that was to be protected and cannot be is closed", () => {
  const closing = "so every request is answered with 503";
  test.each<[Annotations, string]>([
    [
      { "auth-url": "ftp://auth.tools.svc/" },
      `auth-url: "ftp://auth.tools.svc/" is not an address such as "http://auth.tools.svc/check", ${closing}`,
    ],
    [
      { "auth-url": "http://10.0.0.1/check" },
      `auth-url: use the name of a service or host instead of an IP address, ${closing}`,
    ],
    [
      { "auth-url": "http://auth.tools.svc/?u=$http_x_user" },
      `auth-url: the variable $http_x_user is not supported here, ${closing}`,
    ],
    [
      { "auth-url": "http://auth.tools.svc/", "auth-method": "BREW" },
      `auth-method: "BREW" is not one of get, head, post, put, patch, delete, options, ${closing}`,
    ],
    [
      { "auth-url": "http://auth.tools.svc/", "auth-response-headers": "X-User, Content-Length" },
      `auth-response-headers: "Content-Length" is not a valid response header, ${closing}`,
    ],
    [
      { "auth-url": "http://auth.tools.svc/", "auth-snippet": "proxy_set_header X y;" },
      `auth-snippet: not supported, ${closing}`,
    ],
    [
      { "auth-url": "http://auth.tools.svc/", "auth-proxy-set-headers": "tools/headers" },
      `auth-proxy-set-headers: not supported, ${closing}`,
    ],
    [{ "auth-type": "basic" }, `auth-type: auth-secret is missing, ${closing}`],
    [
      { "auth-type": "digest", "auth-secret": "users" },
      `auth-type: "digest" is not one of basic, ${closing}`,
    ],
    [
      { "auth-type": "basic", "auth-secret": "a/b/c" },
      `auth-secret: "a/b/c" is not the name of a secret, ${closing}`,
    ],
    [
      { "auth-type": "basic", "auth-secret": "users", "auth-secret-type": "auth-list" },
      `auth-secret-type: "auth-list" is not one of auth-file, auth-map, ${closing}`,
    ],
    [
      { "auth-tls-secret": "a/b" },
      `auth-tls-secret: this kind of authentication is not supported, ${closing}`,
    ],
    [
      { "denylist-source-range": "192.0.2.0/24, nonsense" },
      'denylist-source-range: "nonsense" is not an address or network such as "10.0.0.0/8", ' +
        closing,
    ],
    [{ "denylist-source-range": " , " }, `denylist-source-range: it is empty, ${closing}`],
    [
      { "whitelist-source-range": " , " },
      `whitelist-source-range: it names no network, ${closing}`,
    ],
  ])("%j", (annotations, problem) => {
    expect(read(annotations)).toEqual({
      policy: { closed: true },
      problems: [`RouteClosed: ${problem}`],
    });
  });
});
