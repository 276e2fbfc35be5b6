// The Kubernetes client over real sockets against a small server of the test's own.
import { getEventListeners } from "node:events";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import type { Environment } from "../../environment/environment.ts";
import type { ExchangeHandler, ServerExchange } from "../../environment/network.ts";
import { nodeEnvironment } from "../../environment/node/node-environment.ts";
import { type ClusterAccess, type Credentials, fixedAccess } from "../credentials/credentials.ts";
import { DeadlineExceededError, type KubeRequest, parseJson } from "./client.ts";
import { HttpKubeClient } from "./http-client.ts";

const get: KubeRequest = { verb: "get", method: "GET", path: "/api/v1/pods?limit=1" };

describe("a request", () => {
  it("goes to the cluster's base URL with our credentials, agent and body", async () => {
    await whileServing(describeRequest, async ({ clientFor, server }) => {
      const client = clientFor(fixedAccess({ name: "c", server: `${server}/base/`, token: "abc" }));
      const response = await client.request({
        verb: "patch",
        method: "PATCH",
        path: "/api/v1/nodes/n?force=true",
        body: { spec: {} },
        contentType: "application/merge-patch+json",
      });
      expect(parseJson(response)).toEqual({
        method: "PATCH",
        target: "/base/api/v1/nodes/n?force=true",
        accept: "application/json",
        agent: "lockstep/test",
        authorization: "Bearer abc",
        contentType: "application/merge-patch+json",
        body: '{"spec":{}}',
      });
    });
  });

  it("throws a refusal as a StatusError", async () => {
    const handler: ExchangeHandler = (exchange) =>
      answerJson(exchange, 409, {
        kind: "Status",
        reason: "Conflict",
        message: "the object has been modified",
      });
    await whileServing(handler, async ({ client }) => {
      await expect(client.request(get)).rejects.toMatchObject({
        name: "StatusError",
        code: 409,
        reason: "Conflict",
        message: "the object has been modified",
      });
      await expect(client.stream({ ...get, verb: "watch" })).rejects.toMatchObject({ code: 409 });
    });
  });

  it("does not read a refusal without end", async () => {
    const handler: ExchangeHandler = async (exchange) => {
      const writer = exchange.respond(500);
      while (!exchange.request.closed.aborted) {
        writer.write(Buffer.alloc(100_000, "x"));
        await writer.drained();
      }
    };
    await whileServing(handler, async ({ client }) => {
      await expect(client.request(get)).rejects.toMatchObject({ code: 500 });
    });
  });

  it("throws what the network throws", async () => {
    const environment = quietEnvironment();
    const cluster = fixedAccess({ name: "c", server: "http://127.0.0.1:1" });
    const client = new HttpKubeClient({ ...environment, cluster, userAgent: "lockstep/test" });
    await expect(client.request(get)).rejects.toMatchObject({
      name: "NetworkError",
      code: "REFUSED",
    });
  });
});

describe("a deadline", () => {
  it("bounds a whole request, its body included", async () => {
    const handler: ExchangeHandler = (exchange) => exchange.respond(200).write(Buffer.from("half"));
    await whileServing(handler, async ({ client }) => {
      const { signal } = new AbortController();
      await expect(client.request({ ...get, deadlineMs: 50, signal })).rejects.toEqual(
        new DeadlineExceededError("GET /api/v1/pods: no answer within 50 ms"),
      );
      expect(getEventListeners(signal, "abort")).toEqual([]);
    });
  });

  it("bounds a stream until its headers are there, and no longer", async () => {
    const held: (() => void)[] = [];
    const handler: ExchangeHandler = (exchange) => {
      if (exchange.request.target === "/silent") return;
      const writer = exchange.respond(200);
      held.push(() => writer.end(Buffer.from("late")));
    };
    await whileServing(handler, async ({ client, environment }) => {
      // Time enough for headers on a busy machine, and the body comes after it all the same.
      const watch = { ...get, verb: "watch", deadlineMs: 500 } as const;
      const silent = { ...watch, path: "/silent", deadlineMs: 50 };
      await expect(client.stream(silent)).rejects.toThrow(DeadlineExceededError);
      const { body } = await client.stream(watch);
      await environment.timers.sleep(600);
      for (const release of held) release();
      const chunks: Uint8Array[] = [];
      for await (const chunk of body) chunks.push(chunk);
      expect(Buffer.concat(chunks).toString()).toBe("late");
    });
  });

  it("covers the wait for credentials", async () => {
    const environment = quietEnvironment();
    const cluster: ClusterAccess = {
      name: "c",
      server: "http://127.0.0.1:1",
      credentials: () => new Promise(() => undefined),
      invalidate: () => undefined,
    };
    const client = new HttpKubeClient({ ...environment, cluster, userAgent: "lockstep/test" });
    await expect(client.request({ ...get, deadlineMs: 20 })).rejects.toThrow(DeadlineExceededError);
    const controller = new AbortController();
    const reason = new Error("not wanted");
    const waiting = client.request({ ...get, signal: controller.signal });
    controller.abort(reason);
    await expect(waiting).rejects.toMatchObject({ code: "ABORTED", cause: reason });
  });
});

describe("credentials that are refused", () => {
  it("are renewed and tried once more", async () => {
    const seen: (string | undefined)[] = [];
    await whileServing(accepting("Bearer new", seen), async ({ clientFor, server }) => {
      const cluster = renewable(server, ["old", "new"]);
      const response = await clientFor(cluster).request({ ...get, method: "POST", body: {} });
      expect(response.status).toBe(200);
      expect(seen).toEqual(["Bearer old", "Bearer new"]);
    });
  });

  it("are reported when the renewed ones are refused too, or are the same", async () => {
    const seen: (string | undefined)[] = [];
    await whileServing(accepting("Bearer other", seen), async ({ clientFor, server }) => {
      const twice = clientFor(renewable(server, ["one", "two", "three"]));
      await expect(twice.request(get)).rejects.toMatchObject({ code: 401 });
      const same = clientFor(fixedAccess({ name: "c", server, token: "fixed" }));
      await expect(same.request(get)).rejects.toMatchObject({ code: 401 });
      expect(seen).toEqual(["Bearer one", "Bearer two", "Bearer fixed"]);
    });
  });
});

describe("metrics", () => {
  it("count requests by verb and code, bytes, and what is under way", async () => {
    const registry = new Registry();
    const handler: ExchangeHandler = (exchange) => {
      // Never ended: the reader has to.
      exchange.respond(200).write(Buffer.from("12345"));
    };
    await whileServing(handler, async ({ clientFor, server }) => {
      const client = clientFor(fixedAccess({ name: "east", server }), registry);
      const controller = new AbortController();
      const { signal } = controller;
      const watch = await client.stream({ verb: "watch", method: "GET", path: "/watch", signal });
      expect(await inFlight(registry)).toBe(1);
      await expect(client.request({ ...get, deadlineMs: 500 })).rejects.toThrow();
      for await (const chunk of watch.body) {
        expect(chunk.length).toBe(5);
        break;
      }
      expect(await inFlight(registry)).toBe(0);
      const unread = await client.stream({ verb: "watch", method: "GET", path: "/watch", signal });
      expect(unread.status).toBe(200);
      controller.abort(new Error("not wanted"));
      expect(await inFlight(registry)).toBe(0);
    });
    expect(await counts(registry, "lockstep_kube_requests_total")).toEqual([
      { cluster: "east", verb: "watch", code: "200", value: 2 },
      { cluster: "east", verb: "get", code: "DEADLINE", value: 1 },
    ]);
    expect(await counts(registry, "lockstep_kube_received_bytes_total")).toEqual([
      { cluster: "east", verb: "get", value: 5 },
      { cluster: "east", verb: "watch", value: 5 },
    ]);
  });
});

interface Served {
  readonly environment: Environment;
  readonly server: string;
  readonly client: HttpKubeClient;
  readonly clientFor: (cluster: ClusterAccess, metrics?: Registry) => HttpKubeClient;
}

async function whileServing(
  handler: ExchangeHandler,
  use: (served: Served) => Promise<void>,
): Promise<void> {
  const environment = quietEnvironment();
  const listener = await environment.network.listen({ host: "127.0.0.1", port: 0 }, handler);
  const server = `http://127.0.0.1:${listener.port}`;
  const clientFor = (cluster: ClusterAccess, metrics?: Registry): HttpKubeClient =>
    new HttpKubeClient({ ...environment, cluster, metrics, userAgent: "lockstep/test" });
  try {
    const client = clientFor(fixedAccess({ name: "c", server }));
    await use({ environment, server, client, clientFor });
  } finally {
    await listener.close();
  }
}

async function describeRequest(exchange: ServerExchange): Promise<void> {
  const { method, target, headers, body } = exchange.request;
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  answerJson(exchange, 200, {
    method,
    target,
    accept: headers["accept"],
    agent: headers["user-agent"],
    authorization: headers["authorization"],
    contentType: headers["content-type"],
    body: Buffer.concat(chunks).toString(),
  });
}

function accepting(authorization: string, seen: (string | undefined)[]): ExchangeHandler {
  return (exchange) => {
    const shown = exchange.request.headers["authorization"];
    seen.push(shown);
    const accepted = shown === authorization;
    answerJson(exchange, accepted ? 200 : 401, { kind: "Status", message: "Unauthorized" });
  };
}

function renewable(server: string, tokens: string[]): ClusterAccess {
  const tls = {};
  return {
    name: "c",
    server,
    credentials: (): Promise<Credentials> =>
      Promise.resolve({ authorization: `Bearer ${tokens[0]}`, tls }),
    invalidate: ({ authorization }) => {
      if (authorization === `Bearer ${tokens[0]}`) tokens.shift();
    },
  };
}

function answerJson(exchange: ServerExchange, status: number, body: object): void {
  const headers = { "content-type": "application/json" };
  exchange.respond(status, headers).end(Buffer.from(JSON.stringify(body)));
}

async function inFlight(registry: Registry): Promise<number> {
  const values = await counts(registry, "lockstep_kube_requests_in_flight");
  return values.reduce((sum, { value }) => sum + value, 0);
}

async function counts(registry: Registry, name: string) {
  const metric = await registry.getSingleMetric(name)?.get();
  return (metric?.values ?? []).map(({ labels, value }) => ({ ...labels, value }));
}

function quietEnvironment(): Environment {
  return nodeEnvironment({ log: { write: () => undefined } });
}
