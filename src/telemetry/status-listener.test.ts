import { Counter, Registry } from "prom-client";
import { expect, test } from "vitest";
import { simulate } from "../simulation/simulation.ts";
import { jsonAnswer, type ShownReadiness, startStatusListener } from "./status-listener.ts";

/** What the listener answers to these requests. */
async function answers(
  readiness: ShownReadiness,
  ...asked: readonly (readonly [method: string, target: string])[]
): Promise<readonly string[]> {
  return await simulate({ seed: 1 }, async (simulation) => {
    const metrics = new Registry();
    new Counter({ name: "seen_total", help: "Seen.", registers: [metrics] });
    const listener = await startStatusListener({
      ...simulation.host("observer"),
      host: "observer",
      port: 9464,
      metrics,
      readiness: () => readiness,
      pages: [
        { path: "/echo", query: "?q=Q", answer: (query) => jsonAnswer({ q: query.get("q") }) },
      ],
    });
    const { network } = simulation.host("prometheus");
    const lines: string[] = [];
    for (const [method, target] of asked) {
      const url = `http://observer:9464${target}`;
      const { status, headers, body } = await network.request({ method, url });
      let text = "";
      for await (const chunk of body) text += Buffer.from(chunk).toString("utf8");
      lines.push(`${status} ${headers["content-type"]}: ${text}`);
    }
    await listener.close();
    return lines;
  });
}

test("it says that it lives, whether it is ready, and what it has counted", async () => {
  const ready = { problem: undefined, notes: ["west is not heard"] };
  const asked = ["/healthz", "/readyz", "/metrics"].map((path) => ["GET", path] as const);
  expect(await answers(ready, ...asked)).toMatchInlineSnapshot(`
    [
      "200 text/plain; charset=utf-8: ok
    ",
      "200 text/plain; charset=utf-8: ok
    west is not heard
    ",
      "200 text/plain; version=0.0.4; charset=utf-8: # HELP seen_total Seen.
    # TYPE seen_total counter
    seen_total 0
    ",
    ]
  `);
});

test("not ready is 503 with the reason first", async () => {
  const waiting = { problem: "no cluster has been heard yet", notes: ["east is connecting"] };
  expect(await answers(waiting, ["GET", "/readyz"])).toMatchInlineSnapshot(`
    [
      "503 text/plain; charset=utf-8: no cluster has been heard yet
    east is connecting
    ",
    ]
  `);
});

test("added pages get their query; what does not exist says what does", async () => {
  const ready = { problem: undefined, notes: [] };
  expect(
    await answers(
      ready,
      ["GET", "/echo?q=a%20b"],
      ["GET", "/x"],
      ["POST", "/metrics"],
      ["GET", "//"],
    ),
  ).toMatchInlineSnapshot(`
    [
      "200 application/json: {"q":"a b"}
    ",
      "404 text/plain; charset=utf-8: there are /healthz, /readyz, /metrics, /echo?q=Q
    ",
      "405 text/plain; charset=utf-8: only GET is answered here
    ",
      "400 text/plain; charset=utf-8: the path cannot be understood
    ",
    ]
  `);
});
