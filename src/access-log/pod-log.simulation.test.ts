import { expect, it } from "vitest";
import type { ServerExchange } from "../environment/network.ts";
import { HttpKubeClient } from "../kube/client/http-client.ts";
import { fixedAccess } from "../kube/credentials/credentials.ts";
import { type Simulation, simulate } from "../simulation/simulation.ts";
import { podLogLines } from "./pod-log.ts";

interface World {
  readonly simulation: Simulation;
  /** The requests, without constant parts. */
  readonly asked: string[];
  /** The lines so far, and how the log ended; undefined while it goes on. */
  readonly read: { readonly lines: string[]; ended: string | undefined };
  readonly connected: boolean[];
  readonly stop: () => void;
}

/** An API server that answers each request for the log by the next of these, then not at all. */
function withAnswers(
  answers: readonly ((exchange: ServerExchange) => void)[],
  act: (world: World) => Promise<void>,
): Promise<void> {
  return simulate({ seed: 1 }, async (simulation) => {
    const asked: string[] = [];
    const path = "/api/v1/namespaces/edge/pods/proxy-1/log?follow=true&timestamps=true&";
    await simulation.host("api").network.listen({ host: "api", port: 80 }, (exchange) => {
      const { target } = exchange.request;
      asked.push(target.startsWith(path) ? target.slice(path.length) : target);
      const answer = answers[asked.length - 1];
      if (answer === undefined) exchange.respond(200);
      else answer(exchange);
    });
    const client = simulation.host("observer");
    const cluster = fixedAccess({ name: "east", server: "http://api:80" });
    const stop = new AbortController();
    const read: World["read"] = { lines: [], ended: undefined };
    const connected: boolean[] = [];
    const reading = async (): Promise<void> => {
      const lines = podLogLines({
        ...client,
        client: new HttpKubeClient({ ...client, cluster, userAgent: "test" }),
        namespace: "edge",
        pod: "proxy-1",
        container: "controller",
        signal: stop.signal,
        onConnected: (isConnected) => connected.push(isConnected),
      });
      for await (const { number, text } of lines) read.lines.push(`${number} ${text}`);
    };
    const ended = reading().then(
      () => "ended",
      (error: unknown) => String(error),
    );
    void ended.then((how) => {
      read.ended = how;
    });
    await act({ simulation, asked, read, connected, stop: () => stop.abort() });
    stop.abort();
    await ended;
  });
}

const date = { date: "Sun, 15 Nov 2026 20:31:30 GMT" };
const lines = (...all: readonly string[]) => Buffer.from(all.map((line) => `${line}\n`).join(""));
const sleep = ({ simulation }: World) => simulation.host("observer").timers.sleep(10_000);

it("goes on after a stream that ended or broke, and delivers every line once", () =>
  withAnswers(
    [
      (exchange) => {
        exchange
          .respond(200, date)
          .end(
            lines(
              "2026-11-15T20:31:31.1Z a",
              "2026-11-15T20:31:31.2Z b",
              "2026-11-15T20:31:31.2Z b",
            ),
          );
      },
      (exchange) => {
        const body = exchange.respond(200, date);
        body.write(
          lines(
            "2026-11-15T20:31:31.100Z a",
            "2026-11-15T20:31:31.200000000Z b",
            "2026-11-15T20:31:31.2Z b",
            "2026-11-15T20:31:31.2Z c",
            "2026-11-15T20:31:32.5Z d",
          ),
        );
        body.write(Buffer.from("2026-11-15T20:31:32.6Z hal"));
        body.abort();
      },
      (exchange) => {
        exchange
          .respond(200, date)
          .write(lines("2026-11-15T20:31:32.5Z d", "2026-11-15T20:31:32.6Z half", "no stamp"));
      },
    ],
    async (world) => {
      await sleep(world);
      expect(world.asked).toEqual([
        "container=controller&tailLines=0",
        "container=controller&sinceTime=2026-11-15T20%3A31%3A31Z",
        "container=controller&sinceTime=2026-11-15T20%3A31%3A32Z",
      ]);
      expect(world.read).toEqual({
        lines: [
          "1 2026-11-15T20:31:31.1Z a",
          "2 2026-11-15T20:31:31.2Z b",
          "3 2026-11-15T20:31:31.2Z b",
          "4 2026-11-15T20:31:31.2Z c",
          "5 2026-11-15T20:31:32.5Z d",
          "6 2026-11-15T20:31:32.6Z half",
          "7 no stamp",
        ],
        ended: undefined,
      });
      expect(world.connected).toEqual([true, false, true, false, true]);
    },
  ));

it("loses no line to a stream that broke before its first one", () =>
  withAnswers([(exchange) => exchange.respond(200, date).end()], async (world) => {
    await sleep(world);
    expect(world.asked[1]).toBe("container=controller&sinceTime=2026-11-15T20%3A31%3A30Z");
  }));

it("ends with a pod that is deleted, and when it is aborted", () =>
  withAnswers(
    [
      (exchange) => exchange.respond(200, date).end(lines("2026-11-15T20:31:31Z last")),
      (exchange) => exchange.respond(404, {}).end(),
    ],
    async (world) => {
      await sleep(world);
      expect(world.read).toEqual({ lines: ["1 2026-11-15T20:31:31Z last"], ended: "ended" });
    },
  ));

it("waits for a container that is being restarted", () =>
  withAnswers(
    [
      (exchange) => exchange.respond(200, date).end(lines("2026-11-15T20:31:31Z last")),
      (exchange) => exchange.respond(400, {}).end(Buffer.from('{"message":"waiting to start"}')),
      (exchange) => exchange.respond(200, date).write(lines("2026-11-15T20:31:40Z first")),
    ],
    async (world) => {
      await sleep(world);
      expect(world.read).toEqual({
        lines: ["1 2026-11-15T20:31:31Z last", "2 2026-11-15T20:31:40Z first"],
        ended: undefined,
      });
    },
  ));

it("says what right is missing, and does not ask again", () =>
  withAnswers(
    [(exchange) => exchange.respond(403, {}).end(Buffer.from('{"message":"forbidden: no"}'))],
    async (world) => {
      await sleep(world);
      expect(world.asked.length).toBe(1);
      expect(world.read.ended).toMatch(
        /^PodLogError: the log of pod edge\/proxy-1 may not be read: it takes the right to get pods\/log there/,
      );
    },
  ));

it("ends at once when it is aborted", () =>
  withAnswers([], async (world) => {
    await sleep(world);
    world.stop();
    await world.simulation.host("observer").timers.sleep(1);
    expect(world.read.ended).toBe("ended");
  }));
