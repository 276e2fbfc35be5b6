// A reflector without checks: the knowledge of client-go about its watches, and its blind spots.
import { describe, expect, test } from "vitest";
import { names, reflectorWorld } from "../../../tests/reflector/reflector-world.ts";
import { noChecks } from "./reflector-parts.ts";

const hourMs = 3_600_000;

describe("without checks", () => {
  test("the first list takes whatever the server has cached, in one answer", () =>
    reflectorWorld(
      async ({ simulation, server, reflector }) => {
        reflector.start();
        await simulation.sleep(10);
        expect(server.seen("list").map(({ query }) => query)).toEqual([
          { resourceVersion: "0", resourceVersionMatch: "NotOlderThan" },
        ]);
      },
      { checks: noChecks },
    ));

  test("a silent watch is believed for ever: no reads, no new watch, no list", () =>
    reflectorWorld(
      async ({ simulation, server, reflector }) => {
        server.put("web-0");
        reflector.start();
        await simulation.sleep(10);
        simulation.network.stall("api", "lockstep");
        server.put("web-1");
        await simulation.sleep(hourMs);
        expect(names(reflector.store)).toEqual(["web-0"]);
        expect(server.requests.map(({ kind }) => kind)).toEqual(["list", "watch"]);
      },
      { checks: noChecks },
    ));

  test("a kernel that gives up after some silence leads to a new watch from where it was", () =>
    reflectorWorld(
      async ({ simulation, server, reflector }) => {
        server.put("web-0");
        reflector.start();
        await simulation.sleep(100_000);
        server.bookmark();
        await simulation.sleep(10);
        const receivedAt = simulation.now();
        simulation.network.stall("api", "lockstep");
        server.put("web-1");
        await simulation.sleep(299_000);
        expect(names(reflector.store)).toEqual(["web-0"]);
        await simulation.sleep(2_000);
        expect(names(reflector.store)).toEqual(["web-0", "web-1"]);
        const [first, second] = server.seen("watch").map(({ atMs }) => atMs);
        expect(first).toBeLessThan(1_000);
        expect(second).toBeGreaterThan(receivedAt + 299_000);
        expect(server.seen("list")).toHaveLength(1);
      },
      { checks: { silenceMaxMs: 300_000 } },
    ));
});
