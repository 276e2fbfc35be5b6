import { Counter, Registry } from "prom-client";
import { expect, test } from "vitest";
import { simulate } from "../simulation/simulation.ts";
import { jsonAnswer, type ShownReadiness, startStatusListener } from "./status-listener.ts";

/** A name with every kind of special character. */
const service = 'shop/"\u001b[2J\u009b\u202e\\\n\u{e0001}ü';

/** The listener's answers to these requests. */
async function answers(
  readiness: ShownReadiness,
  ...asked: readonly (readonly [method: string, target: string])[]
): Promise<readonly string[]> {
  return await simulate({ seed: 1 }, async (simulation) => {
    const metrics = new Registry();
    const labelNames = ["service"] as const;
    new Counter({ name: "seen_total", help: "Seen.", labelNames, registers: [metrics] }).inc({
      service,
    });
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
  const ready = { problem: undefined, notes: ["west\u001b[2J does not answer"] };
  const asked = ["/healthz", "/readyz", "/metrics"].map((path) => ["GET", path] as const);
  expect(await answers(ready, ...asked)).toMatchInlineSnapshot(`
    [
      "200 text/plain; charset=utf-8: ok
    ",
      "200 text/plain; charset=utf-8: ok
    west\\u{1b}[2J does not answer
    ",
      "200 text/plain; version=0.0.4; charset=utf-8: # HELP seen_total Seen.
    # TYPE seen_total counter
    seen_total{service="shop/\\"\\\\u{1b}[2J\\\\u{9b}\\\\u{202e}\\\\\\n\\\\u{e0001}ü"} 1
    ",
    ]
  `);
});

test("not ready is 503 with the reason first", async () => {
  const waiting = { problem: "no cluster has answered yet", notes: ["east is connecting"] };
  expect(await answers(waiting, ["GET", "/readyz"])).toMatchInlineSnapshot(`
    [
      "503 text/plain; charset=utf-8: no cluster has answered yet
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
      ["GET", "/echo?q=%1b%c2%9b%f3%a0%80%81%0a"],
      ["GET", "/x"],
      ["POST", "/metrics"],
      ["GET", "//"],
    ),
  ).toMatchInlineSnapshot(`
    [
      "200 application/json: {"q":"a b"}
    ",
      "200 application/json: {"q":"\\u001b\\u009b\\udb40\\udc01\\n"}
    ",
      "404 text/plain; charset=utf-8: available: /healthz, /readyz, /metrics, /echo?q=Q
    ",
      "405 text/plain; charset=utf-8: only GET is allowed here
    ",
      "400 text/plain; charset=utf-8: the path is invalid
    ",
    ]
  `);
});

test.each([
  [undefined, 200],
  ["observer:9464", 200],
  ["127.0.0.1:9464", 200],
  ["10.1.2.3", 200],
  ["[::1]:9464", 200],
  ["localhost:9464", 200],
  ["LOCALHOST.", 200],
  ["lockstep.example:9464", 200],
  ["evil.example:9464", 421],
  ["127.0.0.1.evil.example", 421],
  ["localhost.evil.example", 421],
  ["evil.example@127.0.0.1", 421],
  ["", 421],
])("a request for the host %s is answered with %i", async (host, status) => {
  const got = await simulate({ seed: 1 }, async (simulation) => {
    const listener = await startStatusListener({
      ...simulation.host("observer"),
      host: "observer",
      port: 9464,
      hostNames: ["lockstep.example"],
      metrics: new Registry(),
      readiness: () => ({ problem: undefined, notes: [] }),
    });
    const { network } = simulation.host("prometheus");
    const headers = host === undefined ? {} : { host };
    const url = "http://observer:9464/metrics";
    const response = await network.request({ method: "GET", url, headers });
    await listener.close();
    return response.status;
  });
  expect(got).toBe(status);
});
