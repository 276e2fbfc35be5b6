import { describe, expect, it } from "vitest";
import { decide, type NginxWorld, nginxWorld } from "../../../tests/nginx/nginx-world.ts";
import { decisionOf, everythingChanged } from "../../../tests/nginx/short-decision.ts";
import type { PathRule } from "../../decide/decision.ts";
import type { ExchangeHandler, ServerExchange } from "../../environment/network.ts";
import { controlContract } from "./control.contract.ts";
import { ControlClient } from "./control-client.ts";

describe("the twin's control socket", () => {
  controlContract((test) =>
    nginxWorld(async (world) => {
      await world.startNginx();
      world.simulation.host("closed");
      await test({
        closed: { address: "closed", port: 80 },
        control: new ControlClient({ ...world.host, socketPath: world.socketPath }),
        status: async (host) => Number((await world.ask(host)).split(" ")[0]),
      });
    }),
  );
});

describe("the twin", () => {
  it("passes over a dead endpoint and tries it last while it is suspect", () =>
    nginxWorld(async (world) => {
      await pod(world, "one", (exchange) => exchange.respond(200).end(Buffer.from("one")));
      await pod(world, "two", (exchange) => exchange.respond(200).end(Buffer.from("two")));
      world.simulation.host("dead");
      await route(world, "dead:80", "one:80", "two:80");
      const answers: string[] = [];
      for (let count = 0; count < 4; count += 1) answers.push(await world.ask("h"));
      expect(answers).toEqual(["200 one", "200 two", "200 one", "200 two"]);
    }));

  it("tries a suspect with one request when its mark has ended, and with more once it answered", () =>
    nginxWorld(async (world) => {
      await pod(world, "one", (exchange) => exchange.respond(200).end(Buffer.from("one")));
      world.simulation.host("back");
      await route(world, "back:80", "one:80");
      expect(await world.ask("h")).toBe("200 one");
      await pod(world, "back", async (exchange) => {
        await world.simulation.sleep(1_000);
        exchange.respond(200).end(Buffer.from("back"));
      });
      await world.simulation.sleep(10_000);
      const atOnce = await Promise.all(Array.from({ length: 6 }, () => world.ask("h")));
      expect(atOnce.filter((answer) => answer === "200 back")).toHaveLength(1);
      const next = [await world.ask("h"), await world.ask("h")];
      expect(next.sort()).toEqual(["200 back", "200 one"]);
    }));

  it("sends what belongs together to one endpoint where a route says so", () =>
    nginxWorld(async (world) => {
      for (const name of ["one", "two", "three"]) {
        await pod(world, name, (exchange) => exchange.respond(200).end(Buffer.from(name)));
      }
      const service = "s";
      const balance = { method: "hash", hashBy: [{ variable: "host" }] } as const;
      const decision = decisionOf({ hosts: {}, services: { s: ["one:80", "two:80", "three:80"] } });
      const hosts = new Map<string, readonly PathRule[]>();
      for (const host of ["a", "b", "c", "d"]) {
        hosts.set(host, [{ path: "/", type: "Prefix", service, policy: { balance } }]);
      }
      await world.startNginx();
      const pusher = world.pusher();
      pusher.start();
      pusher.apply({ ...decision, hosts }, everythingChanged(decision));
      await world.simulation.sleep(100);
      const round = async (): Promise<string[]> => {
        const answers: string[] = [];
        for (const host of hosts.keys()) answers.push(await world.ask(host));
        return answers;
      };
      const first = await round();
      expect(await round()).toEqual(first);
      expect(new Set(first).size).toBeGreaterThan(1);
      await pusher.stop();
    }));

  it("repeats a GET that broke after it was sent, and never a POST", () =>
    nginxWorld(async (world) => {
      const seen: string[] = [];
      const note = (name: string, { request }: ServerExchange) =>
        seen.push(`${request.method} ${name}`);
      await pod(world, "breaking", (exchange) => {
        note("breaking", exchange);
        exchange.abort();
      });
      await pod(world, "fine", (exchange) => {
        note("fine", exchange);
        exchange.respond(200).end(Buffer.from("fine"));
      });
      await route(world, "breaking:80", "fine:80 draining");
      expect(await world.ask("h")).toBe("200 fine");
      const { network } = world.simulation.host("client");
      const url = "http://gateway:8080/";
      const post = await network.request({ method: "POST", url, headers: { host: "h" } });
      expect(post.status).toBe(502);
      expect(seen).toEqual(["GET breaking", "GET fine", "POST breaking"]);
    }));
});

function pod(world: NginxWorld, name: string, handler: ExchangeHandler) {
  return world.simulation.host(name).network.listen({ host: name, port: 80 }, handler);
}

async function route(world: NginxWorld, ...endpoints: string[]): Promise<void> {
  await world.startNginx();
  const pusher = world.pusher();
  pusher.start();
  decide(pusher, { hosts: { h: "s" }, services: { s: endpoints } }, 1);
  await world.simulation.sleep(100);
  await pusher.stop();
}
