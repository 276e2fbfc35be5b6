import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { Environment } from "../../environment/environment.ts";
import { NetworkError } from "../../environment/network.ts";
import { simulate } from "../../simulation/simulation.ts";
import { DeadlineExceededError, type KubeClient, type KubeRequest } from "./client.ts";
import { logThrottled, RateLimitedClient } from "./rate-limited-client.ts";
import { TokenBucket } from "./token-bucket.ts";

const server = "https://10.0.0.1:6443";
const put: KubeRequest = {
  verb: "update",
  method: "PUT",
  path: "/api/v1/namespaces/a/endpoints/b",
};
const watch: KubeRequest = { verb: "watch", method: "GET", path: "/api/v1/pods?watch=true" };

interface World extends Environment {
  readonly client: RateLimitedClient;
  readonly bucket: TokenBucket;
  readonly registry: Registry;
  /** The requests at the server, with the time and the remaining deadline. */
  readonly sent: string[];
  readonly reports: unknown[];
}

function withClient<Result>(main: (world: World) => Promise<Result>): Promise<Result> {
  return simulate({ seed: 1 }, (simulation) => {
    const environment = simulation.host("client");
    const { clock, timers } = environment;
    const sent: string[] = [];
    const reports: unknown[] = [];
    const note = (request: KubeRequest) => {
      sent.push(`${request.verb} at ${clock.monotonicMs()}, deadline ${request.deadlineMs}`);
    };
    const inner: KubeClient = {
      request: async (request) => {
        note(request);
        return { status: 200, headers: {}, body: Buffer.from("{}") };
      },
      stream: async (request) => {
        note(request);
        return { status: 200, headers: {}, body: nothing(), peer: "10.0.0.1:6443" };
      },
    };
    const bucket = new TokenBucket({ clock, timers, qps: 20, burst: 2 });
    const registry = new Registry();
    const onThrottled = (request: unknown) => reports.push(request);
    const client = new RateLimitedClient({
      client: inner,
      bucket,
      clock,
      server,
      onThrottled,
      registry,
    });
    return main({ ...environment, client, bucket, registry, sent, reports });
  });
}

async function* nothing(): AsyncGenerator<Uint8Array> {
  yield* [];
}

test("each request of any verb takes a token, and opening a watch takes none", async () => {
  const sent = await withClient(async ({ client, sent }) => {
    await client.request(put);
    await client.stream({ ...put, verb: "list", method: "GET" });
    await client.stream(watch);
    await client.request({ ...put, verb: "get", method: "GET" });
    await client.stream(watch);
    return sent;
  });
  expect(sent).toEqual([
    "update at 0, deadline undefined",
    "list at 0, deadline undefined",
    "watch at 0, deadline undefined",
    "get at 50, deadline undefined",
    "watch at 50, deadline undefined",
  ]);
});

test("only waits longer than 50 ms are reported, each with its own wait", async () => {
  const reports = await withClient(async ({ client, reports }) => {
    await Promise.all(Array.from({ length: 5 }, () => client.request(put)));
    return reports;
  });
  const url = `${server}${put.path}`;
  expect(reports).toEqual([
    { waitedMs: 100, method: "PUT", url },
    { waitedMs: 150, method: "PUT", url },
  ]);
});

test("the report becomes a line in the words of client-go", async () => {
  const lines = await simulate({ seed: 1 }, async (simulation) => {
    logThrottled(simulation.host("client").log)({ waitedMs: 249.5, method: "PUT", url: "u" });
    return simulation.logLines().map(({ level, message, fields }) => ({ level, message, fields }));
  });
  expect(lines).toEqual([
    {
      level: "info",
      message: "waited before sending request",
      fields: {
        delayMs: 249.5,
        reason: "client-side throttling, not priority and fairness",
        verb: "PUT",
        url: "u",
      },
    },
  ]);
});

test("the wait is part of the deadline, and a wait that cannot fit fails at once", async () => {
  const seen = await withClient(async ({ client, bucket, sent, clock }) => {
    bucket.reserve();
    bucket.reserve();
    await client.request({ ...put, deadlineMs: 80 });
    const failed = await Promise.all([
      client.request({ ...put, deadlineMs: 50 }).catch(() => "unexpected"),
      client.request({ ...put, deadlineMs: 60 }).catch((error: unknown) => error),
    ]);
    return { sent, tooLate: failed[1], now: clock.monotonicMs(), tokens: bucket.tokens() };
  });
  expect(seen).toEqual({
    sent: ["update at 50, deadline 30", "update at 100, deadline 0"],
    tooLate: new DeadlineExceededError(
      `the client's own rate limit has no token for PUT ${put.path} within 60 ms`,
    ),
    now: 100,
    tokens: 0,
  });
});

test("an aborted wait fails as an aborted request does, and gives its token back", async () => {
  const seen = await withClient(async ({ client, bucket, sent }) => {
    bucket.reserve();
    bucket.reserve();
    const abort = new AbortController();
    const waiting = client
      .request({ ...put, signal: abort.signal })
      .catch((error: unknown) => error);
    abort.abort("stopping");
    const error = await waiting;
    return {
      code: error instanceof NetworkError ? [error.code, error.cause] : error,
      sent,
      tokens: bucket.tokens(),
    };
  });
  expect(seen).toEqual({ code: ["ABORTED", "stopping"], sent: [], tokens: 0 });
});

test("the waits are measured under the name and labels of client-go", async () => {
  const values = await withClient(async ({ client, registry }) => {
    await Promise.all(Array.from({ length: 4 }, () => client.request(put)));
    const metric = await registry
      .getSingleMetric("rest_client_rate_limiter_duration_seconds")
      ?.get();
    return metric?.values.map((value) => [value.labels, value.value]).slice(-2);
  });
  const labels = { verb: "PUT", host: "10.0.0.1:6443" };
  expect(values).toEqual([
    [labels, expect.closeTo(0.15, 9)],
    [labels, 4],
  ]);
});
