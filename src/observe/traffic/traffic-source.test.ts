import { expect, it } from "vitest";
import { AccessLogParser } from "../../access-log/access-log-parser.ts";
import { type Simulation, simulate } from "../../simulation/simulation.ts";
import { type LogStream, TrafficSource } from "./traffic-source.ts";

/** A line of an access log, by when the request ended. */
function line(endedMs: number, fields: object): string {
  return `${JSON.stringify({ msec: (endedMs / 1_000).toFixed(3), status: 200, ...fields })}\n`;
}

interface World {
  readonly simulation: Simulation;
  readonly said: string[];
  readonly source: TrafficSource;
}

/** The reports to the observer as text; times count from the start of the observation. */
function withLog(
  chunks: (simulation: Simulation, stream: LogStream) => AsyncIterable<Uint8Array>,
  act: (world: World) => Promise<void>,
): Promise<void> {
  return simulate({ seed: 1 }, async (simulation) => {
    const environment = simulation.host("observer");
    const begin = environment.clock.monotonicMs();
    const said: string[] = [];
    const source = new TrafficSource({
      ...environment,
      name: "proxy.log",
      parser: new AccessLogParser(),
      chunks: (stream) => chunks(simulation, stream),
      target: {
        sink: {
          follow: ({ hop, name }, { service }) => said.push(`${hop} ${name} follows ${service}`),
          unfollow: (_, { service }) => said.push(`knows no more of ${service}`),
        },
        traffic: ({ service, address, port, at, failed }) =>
          said.push(`${service} ${address}:${port} ${at - begin} ${failed ? "failed" : "ok"}`),
      },
    });
    await act({ simulation, said, source });
    await source.stop();
  });
}

it("tells when each try was sent and whether it failed, of the services that the log names", () =>
  withLog(
    async function* (simulation) {
      const ended = simulation.host("observer").clock.wallMs() + 1_000;
      await simulation.host("observer").timers.sleep(2_000);
      yield Buffer.from(
        line(ended, {
          service: "shop/web:80",
          request_time: 0.5,
          upstream_addr: "10.0.0.1:80, 10.0.0.2:80, 10.0.0.3:80",
          upstream_status: "502, 504, 502",
          upstream_response_time: "0.100, 0.300, 0.050",
          upstream_header_time: "-, -, 0.040",
        }),
      );
      yield Buffer.from(line(ended, { service: "shop/web:80" }));
      yield Buffer.from(line(ended, { upstream_addr: "10.0.0.9:80", upstream_status: "-" }));
    },
    async ({ said, source }) => {
      await source.start();
      expect(said).toEqual([
        "traffic proxy.log follows shop/web",
        "shop/web 10.0.0.1:80 500 failed",
        "shop/web 10.0.0.2:80 600 failed",
        "shop/web 10.0.0.3:80 900 ok",
        "undefined 10.0.0.9:80 1000 ok",
        "knows no more of shop/web",
      ]);
      expect(source.status).toMatchObject({ state: "ended", problem: undefined });
      expect(source.status.report.lines).toBe(3);
    },
  ));

it("takes the middle of a second that is all the log has", () =>
  withLog(
    async function* (simulation) {
      const wall = Math.ceil(simulation.host("observer").clock.wallMs() / 1_000) * 1_000;
      await simulation.host("observer").timers.sleep(5_000);
      const time = new Date(wall + 1_000).toISOString().replace(".000", "");
      yield Buffer.from(`{"time":"${time}","status":200,"upstream_addr":"10.0.0.1:80"}\n`);
    },
    async ({ said, source, simulation }) => {
      const wall = simulation.host("observer").clock.wallMs();
      await source.start();
      const expected = Math.ceil(wall / 1_000) * 1_000 - wall + 1_499;
      expect(said).toEqual([`undefined 10.0.0.1:80 ${expected} ok`]);
    },
  ));

it("says nothing of a service while the log is not received, and speaks again when it is", () =>
  withLog(
    async function* (simulation, { onConnected }) {
      const { clock } = simulation.host("observer");
      const one = () =>
        Buffer.from(line(clock.wallMs(), { service: "a/b", upstream_addr: "10.0.0.1:80" }));
      yield one();
      onConnected(false);
      onConnected(true);
      yield one();
      throw new Error("the pipe broke");
    },
    async ({ said, source }) => {
      await source.start();
      expect(said).toEqual([
        "traffic proxy.log follows a/b",
        "a/b 10.0.0.1:80 0 ok",
        "knows no more of a/b",
        "traffic proxy.log follows a/b",
        "a/b 10.0.0.1:80 0 ok",
        "knows no more of a/b",
      ]);
      expect(source.status).toMatchObject({ state: "failed", problem: "the pipe broke" });
    },
  ));

it("tells nothing of the future: a log that is ahead of us is ahead by its clock", () =>
  withLog(
    async function* (simulation) {
      const { clock, timers } = simulation.host("observer");
      const one = (aheadMs: number) =>
        Buffer.from(line(clock.wallMs() + aheadMs, { upstream_addr: "10.0.0.1:80" }));
      yield one(3_600_000);
      yield one(1e13);
      await timers.sleep(1_000);
      yield one(3_600_000);
      // Read late, as when the proxy writes its lines together.
      yield one(3_600_000 - 400);
    },
    async ({ said, source }) => {
      await source.start();
      expect(said).toEqual([
        "undefined 10.0.0.1:80 0 ok",
        "undefined 10.0.0.1:80 1000 ok",
        "undefined 10.0.0.1:80 600 ok",
      ]);
    },
  ));

it("forgets within minutes that one line was ahead, or that a clock was set", () =>
  withLog(
    async function* (simulation) {
      const { clock, timers } = simulation.host("observer");
      const one = (aheadMs: number) =>
        Buffer.from(line(clock.wallMs() + aheadMs, { upstream_addr: "10.0.0.1:80" }));
      yield one(3_600_000);
      await timers.sleep(1_000);
      yield one(-10);
      for (let minute = 1; minute <= 10; minute += 1) {
        await timers.sleep(60_000);
        yield one(-10);
      }
    },
    async ({ said, source }) => {
      await source.start();
      expect([said[1], said.at(-1)]).toEqual([
        `undefined 10.0.0.1:80 ${1_000 - 10 - 3_600_000} ok`,
        `undefined 10.0.0.1:80 ${601_000 - 10} ok`,
      ]);
    },
  ));

it("follows a service with a change until it is named, and not for long when it is not", () =>
  withLog(
    async function* (simulation) {
      const { clock, timers } = simulation.host("observer");
      await timers.sleep(10_000);
      yield Buffer.from(line(clock.wallMs(), { service: "a/b", upstream_addr: "10.0.0.1:80" }));
      await timers.sleep(90_000);
    },
    async ({ said, source, simulation }) => {
      const { timers } = simulation.host("observer");
      source.expect("before/start");
      const running = source.start();
      source.expect("a/b");
      source.expect("a/b");
      source.expect("never/named");
      await timers.sleep(74_000);
      const expected = [
        "traffic proxy.log follows a/b",
        "traffic proxy.log follows never/named",
        "traffic proxy.log follows a/b",
        "a/b 10.0.0.1:80 10000 ok",
        "knows no more of never/named",
      ];
      expect(said).toEqual(expected);
      source.expect("never/named");
      await running;
      source.expect("after/end");
      expect(said).toEqual([
        ...expected,
        "traffic proxy.log follows never/named",
        "knows no more of a/b",
        "knows no more of never/named",
      ]);
      await timers.sleep(100_000);
      expect(said).toHaveLength(8);
    },
  ));
