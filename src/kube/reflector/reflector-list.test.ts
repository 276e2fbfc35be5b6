// If the server does not finish a list, it is requested in a more robust way.
import { expect, test } from "vitest";
import {
  eventLine,
  rawPod,
  reflectorWorld,
  refusal,
} from "../../../tests/reflector/reflector-world.ts";
import { backoffBaseMs } from "./backoff.ts";
import { eventsPerBreath, listStallMs } from "./reflector-list.ts";
import { listPageSize } from "./reflector-request.ts";
import { versionTooLargeRetryMs } from "./reflector-state.ts";

test("a streamed list that stops half-way is given up and asked for by pages", () =>
  reflectorWorld(
    async ({ simulation, server, reflector, delivered }) => {
      server.put("web-0");
      server.put("web-1");
      server.script("watch", (exchange) => {
        exchange.respond(200).write(eventLine("ADDED", rawPod("web-0", "uid-web-0", 2)));
      });
      reflector.start();
      await simulation.sleep(listStallMs);
      expect([reflector.synced, delivered]).toEqual([false, []]);
      await simulation.sleep(2 * backoffBaseMs + 1_000);
      expect(delivered).toEqual(["added web-0@2 by list", "added web-1@3 by list"]);
      expect(server.requests.slice(0, 3).map(({ kind }) => kind)).toEqual([
        "watch",
        "list",
        "watch",
      ]);
    },
    { initialList: "watchlist" },
  ));

test("a list whose second page a lagging cache cannot give is asked for in one answer", () =>
  reflectorWorld(async ({ simulation, server, reflector }) => {
    for (let index = 0; index <= listPageSize; index += 1) {
      server.put(`web-${index}`);
    }
    const details = { causes: [{ reason: "ResourceVersionTooLarge" }] };
    server.script("page", refusal(504, { reason: "Timeout", details }));
    server.script("list", server.list, (exchange) =>
      server.list(exchange, new URLSearchParams({ limit: String(2 * listPageSize) })),
    );
    reflector.start();
    await simulation.sleep(versionTooLargeRetryMs + 1_000);
    expect(server.requests.slice(0, 3).map(({ kind, query }) => ({ kind, query }))).toEqual([
      { kind: "list", query: { limit: String(listPageSize) } },
      { kind: "page", query: { limit: String(listPageSize), continue: String(listPageSize) } },
      { kind: "list", query: {} },
    ]);
    expect(reflector.store.size).toBe(listPageSize + 1);
  }));

test("a stop while the handlers hear of a long list does not wait for the rest of it", async () => {
  let delivered = 0;
  let stop = (): void => undefined;
  const hear = (): void => {
    delivered += 1;
    stop();
  };
  await reflectorWorld(
    async ({ simulation, server, reflector }) => {
      for (let index = 0; index < 3 * eventsPerBreath; index += 1) server.put(`web-${index}`);
      stop = () => void reflector.stop();
      reflector.start();
      await simulation.sleep(5_000);
      expect([reflector.state, reflector.synced]).toEqual(["stopped", false]);
    },
    { handlers: [hear] },
  );
  expect(delivered).toBe(eventsPerBreath);
});
