import { expect, test } from "vitest";
import { lockstepWatch, startShop } from "../../../../tests/cli/watch-command.ts";
import { inObserverWorld, type ObserverWorld } from "../../../../tests/observer/observer-world.ts";
import {
  isRecord,
  listAt,
  optionalString,
  type RawRecord,
  recordAt,
} from "../../../kube/kinds/fields.ts";

/** An ingress-nginx that routes to these for ever. */
async function startProxy({ simulation }: ObserverWorld, addresses: readonly string[]) {
  const endpoints = addresses.map((address) => ({ address, port: "8080" }));
  const answer = JSON.stringify([{ name: "shop-web-80", port: 80, endpoints }]);
  const { network } = simulation.host("proxy");
  await network.listen({ host: "proxy", port: 10246 }, (exchange) => {
    exchange.respond(200).end(Buffer.from(answer));
  });
}

/** Takes traces, and returns them as lines: the span, and whether it is an error. */
async function startCollector({ simulation }: ObserverWorld): Promise<readonly string[]> {
  const spans: string[] = [];
  const { network } = simulation.host("collector");
  await network.listen({ host: "collector", port: 4318 }, async (exchange) => {
    let body = "";
    for await (const chunk of exchange.request.body) body += Buffer.from(chunk).toString("utf8");
    spans.push(...spansIn(JSON.parse(body)));
    exchange.respond(200).end(Buffer.from("{}"));
  });
  return spans;
}

function spansIn(sent: RawRecord): readonly string[] {
  const below = (found: readonly RawRecord[], key: string) =>
    found.flatMap((one) => listAt(one, key).filter(isRecord));
  const spans = below(below(below([sent], "resourceSpans"), "scopeSpans"), "spans");
  return spans.map((span) => {
    const problem = optionalString(recordAt(span, "status"), "message");
    return [optionalString(span, "name"), ...(problem === undefined ? [] : [problem])].join(": ");
  });
}

const otlp = ["--otlp", "http://collector:4318"];

test("what is stuck at a proxy when it is stopped is not told to have been completed", () =>
  inObserverWorld(async (world) => {
    await startShop(world, "lab-1");
    await startProxy(world, ["10.0.0.1"]);
    const spans = await startCollector(world);
    const { timers } = world.simulation.host("admin");
    await lockstepWatch(world, {
      args: [...otlp, "--proxy", "ingress-nginx=http://proxy:10246"],
      meanwhile: async () => {
        await timers.sleep(10_000);
        await world.removePod("lab-1", "web-1");
        await world.publish("lab-1", "web", []);
        await timers.sleep(40_000);
      },
    });
    expect(spans).toEqual(["stuck at routed: proxy:10246 has not reported the change"]);
  }));

test("what every hop has shown when it is stopped is told, though requests were waited for", () =>
  inObserverWorld(async (world) => {
    await startShop(world, "lab-1");
    const spans = await startCollector(world);
    const { timers, clock } = world.simulation.host("admin");
    const { files } = world.simulation.host("lockstep");
    const request = { service: "shop/web:80", upstream_addr: "10.0.0.1:8080", status: 200 };
    const line = JSON.stringify({ msec: clock.wallMs() / 1_000, ...request });
    await files.write("/access.log", "");
    await lockstepWatch(world, {
      args: [...otlp, "--access-log", "/access.log"],
      meanwhile: async () => {
        await timers.sleep(10_000);
        await files.append("/access.log", `${line}\n`);
        await timers.sleep(10_000);
        await world.removePod("lab-1", "web-1");
        await world.publish("lab-1", "web", []);
        await timers.sleep(10_000);
        expect(spans).toEqual([]);
      },
    });
    expect(spans).toEqual(["endpoint leave", "pod", "published"]);
  }));
