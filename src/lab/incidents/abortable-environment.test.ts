import { expect, test } from "vitest";
import type { Environment } from "../../environment/environment.ts";
import { NetworkError } from "../../environment/network.ts";
import { simulate } from "../../simulation/simulation.ts";
import { AbortableEnvironment } from "./abortable-environment.ts";

/** The state of each promise that was begun in the world. */
function outcomes(begun: Readonly<Record<string, Promise<unknown>>>) {
  const seen: Record<string, string> = {};
  for (const [name, promise] of Object.entries(begun)) {
    seen[name] = "waiting";
    promise.then(
      () => {
        seen[name] = "done";
      },
      (error: unknown) => {
        seen[name] = error instanceof NetworkError ? error.code : String(error);
      },
    );
  }
  return seen;
}

async function serve({ network }: Environment, host: string, port: number): Promise<void> {
  await network.listen({ host, port }, (exchange) => {
    if (exchange.request.target === "/slow") return;
    exchange.respond(200).end(Buffer.from("here"));
  });
}

async function get({ network }: Environment, url: string): Promise<string> {
  const response = await network.request({ method: "GET", url });
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

test("until it ends it is the real one", async () => {
  await simulate({ seed: 1 }, async (simulation) => {
    const { environment } = new AbortableEnvironment(simulation.host("a"));
    const { timers } = environment;
    await serve(environment, "a", 80);
    expect(await get(environment, "http://a:80/")).toBe("here");
    const stop = new AbortController();
    const seen = outcomes({
      slept: timers.sleep(10),
      cancelled: timers.sleep(1_000, stop.signal),
      refused: get(environment, "http://a:81/"),
    });
    timers.after(20, () => stop.abort("enough"));
    timers.after(30, () => {
      seen["never"] = "fired";
    })();
    await simulation.sleep(100);
    expect(seen).toEqual({ slept: "done", cancelled: "enough", refused: "REFUSED" });
  });
});

test("after its end nothing happens in it, and its code gets no error", async () => {
  await simulate({ seed: 1 }, async (simulation) => {
    const outside = simulation.host("outside");
    const world = new AbortableEnvironment(simulation.host("a"));
    const { environment } = world;
    const { timers } = environment;
    await serve(outside, "outside", 80);
    await serve(environment, "a", 80);
    const stop = new AbortController();
    const seen = outcomes({
      slept: timers.sleep(10),
      stopped: timers.sleep(1_000, stop.signal),
      asked: get(environment, "http://outside:80/slow"),
    });
    timers.after(10, () => {
      seen["timer"] = "fired";
    });
    await Promise.all([world.end(), world.end()]);
    stop.abort("too late");
    const later = outcomes({
      slept: timers.sleep(0),
      asked: get(environment, "http://outside:80/"),
      breath: timers.breathe(),
    });
    timers.after(0, () => {
      seen["timer"] = "fired";
    });
    await simulation.sleep(60_000);
    expect(seen).toEqual({ slept: "waiting", stopped: "waiting", asked: "waiting" });
    expect(later).toEqual({ slept: "waiting", asked: "waiting", breath: "waiting" });
    const fromOutside = outcomes({ asked: get(outside, "http://a:80/") });
    await simulation.sleep(1_000);
    expect(fromOutside).toEqual({ asked: "REFUSED" });
  });
});

test("programs that were started in it are ended with it, and none is started after that", async () => {
  await simulate({ seed: 1 }, async (simulation) => {
    simulation.registerProgram("server", () => new Promise(() => undefined));
    simulation.registerProgram("check", async ({ environment }) => {
      await environment.timers.sleep(1_000);
      return 3;
    });
    const world = new AbortableEnvironment(simulation.host("a"));
    const { processes } = world.environment;
    const server = await processes.spawn("server", []);
    const seen = outcomes({ run: processes.run("check", [], { timeoutMs: 5_000 }) });
    expect(processes.isAlive(server.pid)).toBe(true);
    await world.end();
    expect(processes.isAlive(server.pid)).toBe(false);
    const late = outcomes({
      run: processes.run("check", [], { timeoutMs: 5_000 }),
      spawn: processes.spawn("server", []),
    });
    await simulation.sleep(10_000);
    expect({ ...seen, late }).toEqual({ run: "done", late: { run: "waiting", spawn: "waiting" } });
  });
});
