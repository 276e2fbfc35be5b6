import { describe, expect, it } from "vitest";
import type { ServerExchange } from "../../environment/network.ts";
import { controlContract } from "./control.contract.ts";
import { ControlClient } from "./control-client.ts";
import { decide, type NginxWorld, nginxWorld } from "./nginx-world.contract.ts";

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

function pod(world: NginxWorld, name: string, handler: (exchange: ServerExchange) => void) {
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
