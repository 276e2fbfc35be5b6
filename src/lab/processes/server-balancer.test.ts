// Where the lab's components end up when the servers of their cluster come and go.
import { expect, it } from "vitest";
import type { Listener, NetworkError } from "../../environment/network.ts";
import { type Simulation, simulate } from "../../simulation/simulation.ts";
import { ServerBalancer } from "./server-balancer.ts";

interface Server {
  readonly url: string;
  /** The requests that it received. */
  readonly asked: string[];
  listener: Listener;
  /** Breaks connections instead of answering. */
  isBroken: boolean;
}

it("stays with one server while that answers, and leaves it when it does not", () =>
  inBalancedWorld(async ({ servers, get }) => {
    expect([await get("/1"), await get("/2")]).toEqual(["from one", "from one"]);
    await servers[0]?.listener.close();
    expect([await get("/3"), await get("/4")]).toEqual(["from two", "from two"]);
    expect(servers.map(({ asked }) => asked)).toEqual([["/1", "/2"], ["/3", "/4"], []]);
  }));

it("never sends again what may have arrived, and goes elsewhere with the next", () =>
  inBalancedWorld(async ({ servers, get }) => {
    const [first] = servers;
    if (first !== undefined) first.isBroken = true;
    expect(await get("/1")).toBe("RESET");
    expect(await get("/2")).toBe("from two");
    expect(servers.map(({ asked }) => asked)).toEqual([["/1"], ["/2"], []]);
  }));

it("refuses when no server accepts connections", () =>
  inBalancedWorld(async ({ servers, get }) => {
    for (const { listener } of servers) await listener.close();
    expect(await get("/1")).toBe("REFUSED");
  }));

it("leaves what is addressed elsewhere alone", () =>
  inBalancedWorld(async ({ servers, balancer, get }) => {
    await servers[0]?.listener.close();
    const other = await balancer.request({ method: "GET", url: "http://three:1/pods" });
    expect(other.peer).toBe("three:1");
    expect(await get("/1")).toBe("from two");
  }));

interface World {
  readonly servers: readonly Server[];
  readonly balancer: ServerBalancer;
  /** The answer's text, or the code of the failure. */
  readonly get: (path: string) => Promise<string>;
}

function inBalancedWorld(run: (world: World) => Promise<void>): Promise<void> {
  return simulate({ seed: 1 }, async (simulation) => {
    const servers: Server[] = [];
    for (const name of ["one", "two", "three"]) servers.push(await startServer(simulation, name));
    const balancer = new ServerBalancer(simulation.host("client").network);
    const urls = servers.map(({ url }) => url);
    balancer.serve(urls);
    const get = async (path: string): Promise<string> => {
      try {
        const { body } = await balancer.request({ method: "GET", url: `${urls[0]}${path}` });
        let text = "";
        for await (const chunk of body) text += Buffer.from(chunk).toString("utf8");
        return text;
      } catch (error) {
        return (error as NetworkError).code;
      }
    };
    await run({ servers, balancer, get });
    for (const { listener } of servers) await listener.close();
  });
}

async function startServer(simulation: Simulation, name: string): Promise<Server> {
  const asked: string[] = [];
  const { network } = simulation.host(name);
  const listener = await network.listen({ host: name, port: 1 }, (exchange) => {
    asked.push(exchange.request.target);
    if (server.isBroken) exchange.abort();
    else exchange.respond(200).end(Buffer.from(`from ${name}`));
  });
  const server: Server = { url: `http://${name}:1`, asked, listener, isBroken: false };
  return server;
}
