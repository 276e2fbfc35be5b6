import { expect, test } from "vitest";
import { policySentences } from "./policy-sentences.ts";

test("what a route asks is said in plain sentences", () => {
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
    }),
  ).toEqual([
    "every request is sent to shop.example (308)",
    "the endpoint sees the path /",
    "the endpoint is told the prefix /app",
    "bodies of up to 8 MiB",
    "bodies are passed on as they come",
    "endpoints may answer with 128 KiB of headers",
    "clients of 192.0.2.0/24 may not come in (403)",
    "only clients of 10.0.0.0/8, ::1 may come in (403)",
    "a client may send 2 requests a second, 10 at once, those of 10.1.0.0/16 as many as they like",
    "only who has a password of the secret shop/users may come in (401)",
    "auth/web:80/check decides who may come in",
  ]);
});
