import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { MonotonicMs } from "../environment/clock.ts";
import type { ServerExchange } from "../environment/network.ts";
import { type Simulation, simulate } from "../simulation/simulation.ts";
import type { Journey } from "../timeline/journey.ts";
import { OtlpExporter, type OtlpExporterOptions } from "./otlp-exporter.ts";

interface World {
  readonly simulation: Simulation;
  readonly exporter: OtlpExporter;
  /** The bodies that the receiver got, in order. */
  readonly bodies: string[];
  /** When, in virtual ms. */
  readonly times: number[];
  /** How it answers from now on. */
  answer: (exchange: ServerExchange) => void;
}

const take = (exchange: ServerExchange) => exchange.respond(200).end(Buffer.from("{}"));

async function inWorld(
  run: (world: World) => Promise<void>,
  options: Partial<OtlpExporterOptions> = {},
): Promise<void> {
  await simulate({ seed: 1 }, async (simulation) => {
    const host = simulation.host("observer");
    const { clock } = host;
    const exporter = new OtlpExporter({
      ...host,
      run: { name: "run", wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() },
      target: {
        url: "http://jaeger:4318/v1/traces",
        headers: { authorization: "Bearer abc" },
        timeoutMs: 10_000,
      },
      ...options,
    });
    const world: World = { simulation, exporter, bodies: [], times: [], answer: take };
    await simulation.host("jaeger").network.listen({ host: "jaeger", port: 4318 }, async (one) => {
      world.times.push(simulation.now());
      let body = "";
      for await (const chunk of one.request.body) body += Buffer.from(chunk).toString("utf8");
      const { method, target, headers } = one.request;
      world.bodies.push(`${method} ${target} ${headers["authorization"]} ${body}`);
      world.answer(one);
    });
    await run(world);
    await exporter.stop();
  });
}

function journey(id: number, more: Partial<Journey> = {}): Journey {
  return {
    id,
    endpoint: {
      cluster: "east",
      service: "shop/web",
      address: "10.0.0.9",
      port: 8080,
      podUid: "uid-1",
    },
    podName: "web-1",
    direction: "leave",
    cause: "terminating",
    origin: { at: 0 as MonotonicMs, notBefore: undefined },
    hops: [{ hop: "pod", witness: "east", state: { type: "shown", lagMs: 0 } }],
    outcome: "complete",
    ...more,
  };
}

test("a journey that is over is one trace, sent as OTLP has it", async () => {
  await inWorld(async ({ exporter, bodies, simulation }) => {
    exporter.onEvent({ type: "over", journey: journey(1) });
    await simulation.sleep(3_000);
    expect(bodies).toHaveLength(1);
    const [sent = ""] = bodies;
    const at = sent.indexOf("{");
    expect(sent.slice(0, at)).toBe("POST /v1/traces Bearer abc ");
    expect(
      sent.slice(at).replaceAll(/,(?=\{)|(?<=\]),|(?<=\[)(?=\{)/g, "$&\n"),
    ).toMatchInlineSnapshot(`
      "{"resourceSpans":[
      {"resource":{"attributes":[
      {"key":"service.name","value":{"stringValue":"lockstep"}},
      {"key":"service.instance.id","value":{"stringValue":"run"}},
      {"key":"k8s.cluster.name","value":{"stringValue":"east"}}]},"scopeSpans":[
      {"scope":{"name":"lockstep.journeys"},"spans":[
      {"traceId":"4e65d3fbe8ad6535681b021b30785b12","spanId":"7c7564e6220ababb","name":"endpoint leave","kind":1,"startTimeUnixNano":"1767225600000000000","endTimeUnixNano":"1767225600000000000","attributes":[
      {"key":"lockstep.journey","value":{"stringValue":"run-1"}},
      {"key":"lockstep.direction","value":{"stringValue":"leave"}},
      {"key":"lockstep.cause","value":{"stringValue":"terminating"}},
      {"key":"k8s.namespace.name","value":{"stringValue":"shop"}},
      {"key":"k8s.service.name","value":{"stringValue":"web"}},
      {"key":"k8s.pod.name","value":{"stringValue":"web-1"}},
      {"key":"k8s.pod.uid","value":{"stringValue":"uid-1"}},
      {"key":"server.address","value":{"stringValue":"10.0.0.9"}},
      {"key":"server.port","value":{"intValue":"8080"}},
      {"key":"lockstep.outcome","value":{"stringValue":"complete"}}],
      "events":[],
      "status":{}},
      {"traceId":"4e65d3fbe8ad6535681b021b30785b12","spanId":"f5ba09ad5f8bb0b1","parentSpanId":"7c7564e6220ababb","name":"pod","kind":1,"startTimeUnixNano":"1767225600000000000","endTimeUnixNano":"1767225600000000000","attributes":[
      {"key":"lockstep.journey","value":{"stringValue":"run-1"}},
      {"key":"lockstep.direction","value":{"stringValue":"leave"}},
      {"key":"lockstep.cause","value":{"stringValue":"terminating"}},
      {"key":"k8s.namespace.name","value":{"stringValue":"shop"}},
      {"key":"k8s.service.name","value":{"stringValue":"web"}},
      {"key":"k8s.pod.name","value":{"stringValue":"web-1"}},
      {"key":"k8s.pod.uid","value":{"stringValue":"uid-1"}},
      {"key":"server.address","value":{"stringValue":"10.0.0.9"}},
      {"key":"server.port","value":{"intValue":"8080"}},
      {"key":"lockstep.hop","value":{"stringValue":"pod"}},
      {"key":"lockstep.witness","value":{"stringValue":"east"}},
      {"key":"lockstep.lag_ms","value":{"doubleValue":0}}],
      "events":[],
      "status":{}}]}]}]}"
    `);
    expect(exporter.counts).toEqual({ sent: 2, dropped: 0, rejected: 0, waiting: 0 });
  });
});

test("nothing is sent of a change under way, until it is stuck", async () => {
  await inWorld(async ({ exporter, bodies, simulation }) => {
    const hop = { hop: "published", witness: "east", state: { type: "stuck" } } as const;
    const [pod] = journey(1).hops;
    if (pod === undefined) throw new Error("there is a first hop");
    exporter.onEvent({ type: "shown", journey: journey(1), hop: pod });
    await simulation.sleep(30_000);
    expect(bodies).toEqual([]);
    exporter.onEvent({ type: "stuck", journey: journey(1, { hops: [pod, hop] }), hop });
    await simulation.sleep(3_000);
    expect(bodies.join().match(/"name":"stuck at published"/g)).toHaveLength(1);
    expect(exporter.counts).toEqual({ sent: 1, dropped: 0, rejected: 0, waiting: 0 });
  });
});

test("journeys travel together, at most 512 spans a request, by cluster", async () => {
  await inWorld(async ({ exporter, bodies, simulation }) => {
    for (let id = 1; id <= 300; id += 1) {
      const { endpoint } = journey(id);
      const cluster = id % 2 === 0 ? "east" : "west";
      exporter.onEvent({
        type: "over",
        journey: journey(id, { endpoint: { ...endpoint, cluster } }),
      });
    }
    await simulation.sleep(5_000);
    const count = (body: string, text: string) => body.split(text).length - 1;
    expect(bodies.map((body) => count(body, '"spanId"'))).toEqual([512, 88]);
    expect(bodies.map((body) => count(body, "k8s.cluster.name"))).toEqual([2, 2]);
    expect(exporter.counts).toEqual({ sent: 600, dropped: 0, rejected: 0, waiting: 0 });
  });
});

test.each([429, 502, 503, 504])(
  "after %i the same spans are sent again, later and later",
  async (status) => {
    await inWorld(async (world) => {
      const { exporter, bodies, times, simulation } = world;
      world.answer = (exchange) => exchange.respond(bodies.length < 4 ? status : 200).end();
      exporter.onEvent({ type: "over", journey: journey(1) });
      await simulation.sleep(60_000);
      expect(bodies).toHaveLength(4);
      expect(new Set(bodies).size).toBe(1);
      const rests = times.map((time, index) => time - (times[index - 1] ?? 0)).slice(1);
      expect(rests.every((rest, index) => rest >= 800 * 2 ** index)).toBe(true);
      expect(exporter.counts).toEqual({ sent: 2, dropped: 0, rejected: 0, waiting: 0 });
      const said = simulation.logLines().map(({ message }) => message);
      expect(said).toEqual([
        "The trace receiver does not accept traces; retrying.",
        "The trace receiver accepts traces again.",
      ]);
    });
  },
);

test("a receiver that says when to come back is not asked before", async () => {
  await inWorld(async (world) => {
    const { exporter, times, simulation } = world;
    world.answer = (exchange) => {
      if (times.length > 1) take(exchange);
      else exchange.respond(503, { "retry-after": "20" }).end();
    };
    exporter.onEvent({ type: "over", journey: journey(1) });
    await simulation.sleep(60_000);
    expect(times).toHaveLength(2);
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(20_000);
  });
});

test("a connection that breaks and an answer that never comes are tried again", async () => {
  await inWorld(async (world) => {
    const { exporter, bodies, simulation } = world;
    world.answer = (exchange) => {
      if (bodies.length === 1) exchange.abort();
      else if (bodies.length > 2) take(exchange);
    };
    exporter.onEvent({ type: "over", journey: journey(1) });
    await simulation.sleep(60_000);
    expect(bodies).toHaveLength(3);
    expect(exporter.counts.sent).toBe(2);
  });
});

test("a receiver that accepts data and never answers is reported", async () => {
  await inWorld(async (world) => {
    world.answer = () => undefined;
    world.exporter.onEvent({ type: "over", journey: journey(1) });
    await world.simulation.sleep(60_000);
    expect(world.simulation.logLines().map(({ fields }) => fields?.["detail"])).toEqual([
      "POST http://jaeger:4318/v1/traces: no answer within 10000 ms",
    ]);
  });
});

test("what is refused for good is counted and not sent again", async () => {
  await inWorld(async (world) => {
    const { exporter, bodies, simulation } = world;
    world.answer = (exchange) => exchange.respond(400).end(Buffer.from("no such tenant"));
    exporter.onEvent({ type: "over", journey: journey(1) });
    exporter.onEvent({ type: "over", journey: journey(2) });
    await simulation.sleep(60_000);
    expect(bodies).toHaveLength(1);
    expect(exporter.counts).toEqual({ sent: 0, dropped: 0, rejected: 4, waiting: 0 });
    expect(simulation.logLines().map(({ fields }) => fields?.["detail"])).toEqual([
      "400 no such tenant",
    ]);
  });
});

test("spans that the receiver left out are counted", async () => {
  await inWorld(async (world) => {
    world.answer = (exchange) =>
      exchange.respond(200).end(Buffer.from('{"partialSuccess":{"rejectedSpans":"1"}}'));
    world.exporter.onEvent({ type: "over", journey: journey(1) });
    await world.simulation.sleep(3_000);
    expect(world.exporter.counts).toEqual({ sent: 1, dropped: 0, rejected: 1, waiting: 0 });
  });
});

test("while the receiver is away the oldest make room, and Prometheus sees it", async () => {
  const metrics = new Registry();
  const run = async ({ simulation, exporter }: World) => {
    simulation.crash("jaeger");
    for (let id = 1; id <= 4_200; id += 1) {
      exporter.onEvent({ type: "over", journey: journey(id) });
    }
    await simulation.sleep(1_000);
    expect(exporter.counts.waiting).toBeLessThanOrEqual(8_192 + 512);
    expect(exporter.counts.waiting + exporter.counts.dropped).toBe(8_400);
    // Each batch is given up after five minutes.
    await simulation.sleep(3_600_000 * 3);
    expect(exporter.counts).toEqual({ sent: 0, dropped: 8_400, rejected: 0, waiting: 0 });
    const text = await metrics.metrics();
    expect(text.split("\n").filter((line) => line.startsWith("lockstep"))).toEqual([
      'lockstep_otlp_spans_total{result="sent"} 0',
      'lockstep_otlp_spans_total{result="dropped"} 8400',
      'lockstep_otlp_spans_total{result="rejected"} 0',
      "lockstep_otlp_waiting_spans 0",
    ]);
  };
  await inWorld(run, { metrics });
});

test("stopping sends what waits at once", async () => {
  await inWorld(async ({ exporter, simulation, bodies }) => {
    for (let id = 1; id <= 300; id += 1) exporter.onEvent({ type: "over", journey: journey(id) });
    const before = simulation.now();
    await exporter.stop();
    expect(simulation.now() - before).toBeLessThan(1_000);
    expect(bodies).toHaveLength(2);
    exporter.onEvent({ type: "over", journey: journey(301) });
    expect(exporter.counts).toEqual({ sent: 600, dropped: 2, rejected: 0, waiting: 0 });
  });
});

test("stopping waits three seconds for a receiver that is silent, and says what was lost", async () => {
  await inWorld(async (world) => {
    const { exporter, simulation } = world;
    world.answer = () => undefined;
    for (let id = 1; id <= 300; id += 1) exporter.onEvent({ type: "over", journey: journey(id) });
    const before = simulation.now();
    await Promise.all([exporter.stop(), exporter.stop()]);
    expect(simulation.now() - before).toBe(3_000);
    expect(exporter.counts).toEqual({ sent: 0, dropped: 600, rejected: 0, waiting: 0 });
  });
});
