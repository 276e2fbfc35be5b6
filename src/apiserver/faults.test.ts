// Faults of an API server as its clients meet them.
import { describe, expect, test } from "vitest";
import { failure, inApiWorld, pod, pods } from "../../tests/apiserver/api-world.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";

const throttled = "Too many requests, please try again later.\n";

describe("a rule", () => {
  test("delays only the verbs and clients it names", () =>
    inApiWorld(async ({ call, server, client }) => {
      server.faults.setRules([{ match: { user: "other", verbs: ["list"] }, latency: 5000 }]);
      const took = async (method: string, path: string, token: string) => {
        const began = client.clock.monotonicMs();
        await call(method, path, undefined, { token });
        return Math.floor((client.clock.monotonicMs() - began) / 1000);
      };
      expect(await took("GET", pods, "other-token")).toBe(5);
      expect(await took("GET", `${pods}/a`, "other-token")).toBe(0);
      expect(await took("GET", pods, "admin-token")).toBe(0);
      server.faults.setRules([]);
      expect(await took("GET", pods, "other-token")).toBe(0);
    }));

  test("refuses with 429 and Retry-After, with 500 or with 503", () =>
    inApiWorld(async ({ call, server }) => {
      server.faults.setRules([{ match: {}, throttled: { rate: 1, retryAfterSeconds: 7 } }]);
      const reply = await call("GET", pods);
      expect([reply.status, reply.text]).toEqual([429, throttled]);
      expect(reply.headers["retry-after"]).toBe("7");
      server.faults.setRules([{ match: { userAgent: "kcm/" }, errors: { rate: 1, code: 503 } }]);
      const agent = { headers: { "user-agent": "kcm/v1.17.3" } };
      expect((await call("GET", pods, undefined, agent)).json).toEqual(
        failure(503, "ServiceUnavailable", "the server is currently unable to handle the request"),
      );
      expect((await call("GET", pods)).status).toBe(200);
    }));

  test("breaks connections before anything is stored", () =>
    inApiWorld(async ({ call, server }) => {
      server.faults.setRules([{ match: { resource: "pods" }, resets: { rate: 1 } }]);
      await expect(call("POST", pods, pod("a"))).rejects.toMatchObject({ code: "RESET" });
      server.faults.setRules([]);
      expect((await call("GET", `${pods}/a`)).status).toBe(404);
    }));

  test("strikes its share of requests", () =>
    inApiWorld(async ({ call, server }) => {
      server.faults.setRules([{ match: {}, errors: { rate: 0.25, code: 500 } }]);
      let failures = 0;
      for (let i = 0; i < 400; i++) {
        failures += (await call("GET", `${pods}/a`)).status === 500 ? 1 : 0;
      }
      expect(failures > 60 && failures < 140).toBe(true);
    }));
});

test("a bounded capacity queues requests, and refuses those beyond the queue", () =>
  inApiWorld(async ({ call, server, client }) => {
    server.faults.setCapacity({ requestsPerSecond: 10, maxQueued: 20 });
    const began = client.clock.monotonicMs();
    const replies = await Promise.all(Array.from({ length: 30 }, () => call("GET", pods)));
    const codes = replies.map((reply) => reply.status);
    expect(codes.filter((code) => code === 200).length).toBe(21);
    expect(codes.filter((code) => code === 429).length).toBe(9);
    expect(Math.floor((client.clock.monotonicMs() - began) / 1000)).toBe(2);
  }));

test("a bounded capacity for writes leaves reads alone", () =>
  inApiWorld(async ({ call, server, client }) => {
    server.faults.setCapacity({ requestsPerSecond: 10, maxQueued: 20, of: "writes" });
    const began = client.clock.monotonicMs();
    const secondsSince = (): number => Math.floor((client.clock.monotonicMs() - began) / 1000);
    await Promise.all(Array.from({ length: 30 }, () => call("GET", pods)));
    expect(secondsSince()).toBe(0);
    const names = Array.from({ length: 21 }, (_, index) => `write-${index}`);
    const replies = await Promise.all(
      names.map((name) => call("POST", configMaps, { metadata: { name } })),
    );
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([201]));
    expect(secondsSince()).toBe(2);
  }));
