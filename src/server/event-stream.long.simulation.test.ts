import { expect, test } from "vitest";
import type { PageClient, PageEvent } from "../../tests/page/page-client.ts";
import { onPageStage, type PageStage } from "../../tests/page/page-stage.ts";
import { simulate } from "../simulation/simulation.ts";
import type { JourneyBatch, Reset, State } from "./api.ts";
import { EventStream } from "./event-stream.ts";

/** The knowledge of a page after its events: the newest state of each journey, and the state. */
function known(events: readonly PageEvent[]) {
  const journeys = new Map<string, unknown>();
  let state: State | undefined;
  for (const { event, data } of events) {
    if (event === "reset") {
      journeys.clear();
      state = (data as Reset).state;
    }
    if (event === "state") state = data as State;
    if (event !== "reset" && event !== "journeys") continue;
    for (const one of (data as Reset | JourneyBatch).journeys) journeys.set(one.id, one);
  }
  return { journeys: Object.fromEntries(journeys), changes: state?.changes };
}

/** Changes for some seconds, two hops each. */
async function busy({ happen, environment }: PageStage, seconds: number): Promise<void> {
  for (let turn = 0; turn < seconds * 4; turn += 1) {
    happen({ hops: { pod: 0, published: 30 + turn } });
    happen({ outcome: "pending", hops: { pod: 0, published: "pending" } });
    await environment.timers.sleep(250);
  }
}

async function readTo(client: PageClient, from: string | undefined, lastId: string) {
  const events = await client.open(from);
  await events.until(({ id }) => id === lastId);
  events.close();
  return events.all;
}

test("a page that was away and resumes knows the same as one that was not", () =>
  onPageStage({}, async (stage) => {
    const { client } = stage;
    const steady = await client.open();
    const first = await client.open();
    await busy(stage, 3);
    await first.until(({ event, data }) => event === "state" && (data as State).changes > 10);
    const { lastId } = first;
    const before = first.all.slice(0, first.all.findIndex(({ id }) => id === lastId) + 1);
    first.close();
    await busy(stage, 3);
    const last = await steady.until(({ event, data }) => {
      return event === "state" && (data as State).changes === 48;
    });
    const after = await readTo(client, lastId, last.id);
    expect(after.map(({ event }) => event)).not.toContain("reset");
    const whole = steady.all.slice(0, steady.all.findIndex(({ id }) => id === last.id) + 1);
    expect([...before, ...after].map(({ id }) => id)).toEqual(whole.map(({ id }) => id));
    expect(known([...before, ...after])).toEqual(known(whole));
    steady.close();
  }));

test("a page whose events are gone, or of another server, gets everything again", () =>
  onPageStage({}, async (stage) => {
    const { client, environment } = stage;
    const first = await client.open();
    await busy(stage, 2);
    await first.until(({ event }) => event === "journeys");
    const { lastId } = first;
    first.close();
    // Without any page events are no longer made.
    await environment.timers.sleep(60_000);
    expect(stage.server.events.isWanted).toBe(false);
    await busy(stage, 2);
    for (const id of [lastId, "another-server.7", "rubbish", `${lastId}9`]) {
      const events = await client.open(id);
      const { event, data } = await events.until(() => true);
      expect(event).toBe("reset");
      expect((data as Reset).journeys).toHaveLength(32);
      events.close();
    }
  }));

test("no page resumes across a time without events, though it had the last one", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const { network, timers } = simulation.host("page");
    const data = JSON.stringify({ state: null, journeys: [] });
    const options = { timers, name: "stream", reset: () => data, onWanted: () => undefined };
    const stream = new EventStream(options);
    const listener = await network.listen({ host: "127.0.0.1", port: 0 }, (exchange) => {
      stream.open(exchange);
    });
    const open = async (lastId?: string): Promise<string> => {
      const stopping = new AbortController();
      const headers = lastId === undefined ? {} : { "last-event-id": lastId };
      const url = `http://127.0.0.1:${listener.port}/`;
      const { body } = await network.request({
        method: "GET",
        url,
        headers,
        signal: stopping.signal,
      });
      timers.after(100, () => stopping.abort());
      let text = "";
      try {
        for await (const chunk of body) text += Buffer.from(chunk).toString("utf8");
      } catch {
        // The page was closed.
      }
      return text;
    };
    expect(await open()).toBe(`id: stream.0\nevent: reset\ndata: ${data}\n\n`);
    // Soon after, nothing is missed.
    expect(await open("stream.0")).toBe("");
    await timers.sleep(60_000);
    stream.send("state", "{}");
    expect(await open("stream.0")).toMatch(/^id: stream\.1\nevent: reset\n/);
    stream.close();
    await listener.close();
  }));

test("a page that does not read is cut off and holds no memory; others go on", () =>
  onPageStage({}, async (stage) => {
    const { client, server, environment, happen } = stage;
    const slow = await client.open();
    const steady = await client.open();
    const reading = steady.until(({ event }) => event === "never").catch(() => undefined);
    // Far more than a page may have pending.
    const service = `shop/${"x".repeat(4_000)}`;
    for (let turn = 0; turn < 40; turn += 1) {
      for (let one = 0; one < 100; one += 1) happen({ service });
      await environment.timers.sleep(250);
    }
    expect(server.events).toMatchObject({ pages: 1, cutOff: 1 });
    expect(steady.bytes).toBeGreaterThan(12 * 1024 * 1024);
    const seen = async (): Promise<void> => {
      while ((await slow.next()) !== undefined);
    };
    await expect(seen()).rejects.toThrow();
    // It resumes, with everything again where the ring is past it.
    const resumed = await client.open(slow.all.at(-1)?.id);
    expect((await resumed.next())?.event).toBe("reset");
    resumed.close();
    steady.close();
    await reading;
  }));

test("hundreds of pages are served by one computation", () =>
  onPageStage({}, async (stage) => {
    const { client, server, environment } = stage;
    await busy(stage, 1);
    const pages = await Promise.all(Array.from({ length: 300 }, () => client.open()));
    for (const page of pages) expect((await page.next())?.event).toBe("reset");
    expect(server.events).toMatchObject({ pages: 300, resets: 1 });
    const before = server.model.computed;
    const startedAt = environment.clock.monotonicMs();
    await busy(stage, 10);
    await Promise.all(
      pages.map((page) =>
        page.until(({ event, data }) => event === "state" && (data as State).changes === 88),
      ),
    );
    await Promise.all(Array.from({ length: 300 }, () => client.get("/api/v1/state")));
    const seconds = (environment.clock.monotonicMs() - startedAt) / 1_000;
    expect(server.model.computed - before).toBeLessThanOrEqual(Math.ceil(seconds) + 1);
    for (const page of pages) page.close();
  }));

test("pages that vanish leave nothing behind", () =>
  onPageStage({}, async ({ client, server, environment }) => {
    const pages = await Promise.all(Array.from({ length: 20 }, () => client.open()));
    expect(server.events.pages).toBe(20);
    for (const page of pages) page.close();
    await environment.timers.sleep(60_000);
    expect(server.events).toMatchObject({ pages: 0, isWanted: false });
  }));

test("a journey that changes often is sent once in a batch, and too many are counted", () =>
  onPageStage({}, async ({ client, happen }) => {
    const events = await client.open();
    await events.next();
    for (let one = 0; one < 250; one += 1)
      happen({ hops: { pod: 0, published: 5, routed: [1, 2] } });
    const { data } = await events.until(({ event }) => event === "journeys");
    const { journeys, leftOut } = data as JourneyBatch;
    expect([journeys.length, leftOut]).toEqual([100, 150]);
    expect(journeys.at(-1)).toMatchObject({ id: "run-250", outcome: "complete" });
    events.close();
  }));
