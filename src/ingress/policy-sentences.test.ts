import { expect, test } from "vitest";
import { policySentences } from "./policy-sentences.ts";

test("the policy of a route is shown in plain sentences", () => {
  expect(policySentences(undefined)).toEqual([]);
  expect(
    policySentences({
      hostRedirect: { host: "shop.example", status: 308 },
      rewrite: "/",
      forwardedPrefix: "/app",
      maxBodyBytes: 8_388_608,
      streamBodies: true,
      largeHeaders: true,
      denyFrom: ["192.0.2.0/24"],
      allowFrom: ["10.0.0.0/8", "::1"],
      rateLimit: { requestsPerSecond: 2, burst: 10, exceptFrom: ["10.1.0.0/16"] },
      basicAuth: { users: "shop/users file", realm: "the shop" },
      externalAuth: { service: "auth/web:80", host: "web.auth.svc", path: "/check" },
      pathRewrite: { prefix: "/new" },
      requestHeaders: { set: [{ name: "X-Set", value: "1" }], remove: ["X-Gone"] },
      responseHeaders: { add: [{ name: "X-Add", value: "2" }] },
      deadlineMs: 1_500,
    }),
  ).toEqual([
    "every request is redirected to shop.example (308)",
    "path sent to the endpoint: /",
    "X-Forwarded-Prefix sent to the endpoint: /app",
    "maximum body size: 8 MiB",
    "request bodies are streamed",
    "maximum response headers: 128 KiB",
    "denied clients: 192.0.2.0/24 (403)",
    "allowed clients: 10.0.0.0/8, ::1 (others: 403)",
    "rate limit per client: 2 requests a second, burst 10; no limit for 10.1.0.0/16",
    "basic auth: users in secret shop/users (others: 401)",
    "external auth: auth/web:80/check",
    "sent to the endpoint in place of the prefix: /new",
    "request headers changed: X-Set, X-Gone",
    "response headers changed: X-Add",
    "an answer must begin within 1.5 s",
  ]);
});

test("the filters of an HTTPRoute, its retries and its sessions are shown", () => {
  const set = [{ name: "X-A", value: "1" }];
  expect(
    policySentences({
      cors: {
        dialect: "gateway",
        allowOrigins: ["https://*.example"],
        allowMethods: [],
        allowHeaders: [],
        exposeHeaders: [],
        allowCredentials: false,
        maxAgeSeconds: 5,
      },
      tries: 3,
      retryOn: [500, 503],
      ownHeaders: { requestHeaders: { set }, responseHeaders: { remove: ["X-B"] } },
      balance: { method: "round-robin", affinity: { cookie: "shop", mode: "persistent" } },
      canaries: [{ service: "d/b:80", weight: 1, weightTotal: 2, requestHeaders: { set } }],
      mirrors: [{ service: "d/c:80" }, { service: "d/d:80", weight: 7, weightTotal: 100 }],
    }),
  ).toEqual([
    "maximum tries: 3",
    "another try after an answer with 500, 503",
    "CORS: allowed origins https://*.example",
    "for this service: request headers changed: X-A",
    "for this service: response headers changed: X-B",
    "load balancing: round-robin",
    "session cookie: shop",
    "canary d/b:80: 1 of 2 of the other requests; request headers changed: X-A",
    "copies of every request are sent to d/c:80",
    "copies of 7 of 100 requests are sent to d/d:80",
  ]);
});
