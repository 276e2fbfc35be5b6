import { expect, it } from "vitest";
import type { Environment } from "../../environment/environment.ts";
import { type Simulation, simulate } from "../../simulation/simulation.ts";
import { Entry } from "./entry.ts";

const replicas = ["one", "two", "three"].map((name) => ({ name, address: `${name}:80` }));

/** Runs with an entry in front of three replicas; those named listen and echo the body. */
async function inWorld(
  listening: readonly string[],
  run: (world: { simulation: Simulation; entry: Entry; client: Environment }) => Promise<void>,
): Promise<void> {
  await simulate({ seed: 1 }, async (simulation) => {
    for (const name of ["one", "two", "three"]) {
      const { network } = simulation.host(name);
      if (listening.includes(name)) await listen(network, name);
    }
    const entry = new Entry({ ...simulation.host("entry"), host: "entry", port: 80, replicas });
    await entry.start();
    await run({ simulation, entry, client: simulation.host("client") });
    await entry.stop();
  });
}

async function listen(network: Environment["network"], name: string): Promise<void> {
  await network.listen({ host: name, port: 80 }, async (exchange) => {
    const { request } = exchange;
    let body = "";
    for await (const chunk of request.body) body += Buffer.from(chunk).toString("utf8");
    exchange.respond(200).end(Buffer.from(`${name} ${request.method} ${request.target} ${body}`));
  });
}

async function send(client: Environment, method = "GET", body?: string): Promise<string> {
  const response = await client.network.request({
    method,
    url: "http://entry:80/a?b=c",
    ...(body === undefined ? {} : { body: Buffer.from(body) }),
  });
  let text = "";
  for await (const chunk of response.body) text += Buffer.from(chunk).toString("utf8");
  return `${response.status} ${response.headers["x-replica"]}: ${text}`;
}

it("gives requests to the replicas in turn, and passes bodies both ways", async () => {
  await inWorld(["one", "two", "three"], async ({ client, entry }) => {
    expect(await send(client)).toBe("200 one: one GET /a?b=c ");
    expect(await send(client, "POST", "hello")).toBe("200 two: two POST /a?b=c hello");
    expect(await send(client)).toBe("200 three: three GET /a?b=c ");
    expect(await send(client)).toBe("200 one: one GET /a?b=c ");
    expect(entry.counts).toEqual({
      requests: 4,
      unserved: 0,
      replicas: [
        { name: "one", requests: 2, refused: 0, broken: 0 },
        { name: "two", requests: 1, refused: 0, broken: 0 },
        { name: "three", requests: 1, refused: 0, broken: 0 },
      ],
    });
  });
});

it("leaves out a replica that refuses for a second, and loses no request by it", async () => {
  await inWorld(["two", "three"], async ({ client, entry, simulation }) => {
    for (let count = 0; count < 6; count += 1) expect(await send(client)).toMatch(/^200 t/);
    expect(entry.counts.replicas[0]).toEqual({ name: "one", requests: 0, refused: 1, broken: 0 });
    await simulation.sleep(1_000);
    for (let count = 0; count < 3; count += 1) expect(await send(client)).toMatch(/^200 t/);
    expect(entry.counts.replicas[0]).toEqual({ name: "one", requests: 0, refused: 2, broken: 0 });
    await listen(simulation.host("one").network, "one");
    await simulation.sleep(1_000);
    const answers = [await send(client), await send(client), await send(client)];
    expect(answers.some((answer) => answer.startsWith("200 one"))).toBe(true);
  });
});

it("answers 503 when no replica takes connections", async () => {
  await inWorld([], async ({ client, entry }) => {
    expect(await send(client)).toBe("503 undefined: no ingress replica takes connections\n");
    expect(entry.counts).toMatchObject({ requests: 1, unserved: 1 });
  });
});

it("breaks the client's connection when a replica's breaks, and does not repeat the request", async () => {
  await inWorld(["two", "three"], async ({ client, entry, simulation }) => {
    const { network } = simulation.host("one");
    await network.listen({ host: "one", port: 80 }, (exchange) => exchange.abort());
    await expect(send(client)).rejects.toMatchObject({ code: "RESET" });
    expect(entry.counts).toMatchObject({
      requests: 1,
      unserved: 0,
      replicas: [{ requests: 1, refused: 0, broken: 1 }, { requests: 0 }, { requests: 0 }],
    });
  });
});
