// The contract of addresses: listening, connecting, and the names of the failures.
import { expect, it } from "vitest";
import {
  failureOf,
  type NetworkWorld,
  type RunInNetworkWorld,
  readText,
  whileServing,
} from "../../tests/network/network-world.ts";
import type { ServerExchange } from "./network.ts";

export function networkAddressContract(run: RunInNetworkWorld): void {
  it("chooses a free port when asked for port 0", () =>
    run((world) =>
      whileServing(world, answer("one"), (one) =>
        whileServing(world, answer("two"), async (two) => {
          expect(one.listener.host).toBe(world.serverHost);
          expect(one.listener.port).toBeGreaterThan(0);
          expect(two.listener.port).not.toBe(one.listener.port);
          expect(await get(world, one.url)).toBe("one");
          expect(await get(world, two.url)).toBe("two");
        }),
      ),
    ));

  it("fails with ADDRESS_IN_USE when another listener has the port", () =>
    run((world) =>
      whileServing(world, answer("first"), async ({ listener, url }) => {
        const options = { host: world.serverHost, port: listener.port };
        const error = await failureOf(world.server.network.listen(options, answer("second")));
        expect(error.code).toBe("ADDRESS_IN_USE");
        expect(await get(world, url)).toBe("first");
      }),
    ));

  it("gives a port back when its listener has closed", () =>
    run(async (world) => {
      const { network } = world.server;
      const first = await network.listen({ host: world.serverHost, port: 0 }, answer("first"));
      await first.close();
      const options = { host: world.serverHost, port: first.port };
      const second = await network.listen(options, answer("second"));
      expect(await get(world, `http://${world.serverHost}:${second.port}`)).toBe("second");
      await second.close();
    }));

  it("fails with REFUSED at a closed port", () =>
    run(async (world) => {
      const { network } = world.server;
      const gone = await network.listen({ host: world.serverHost, port: 0 }, answer("gone"));
      await gone.close();
      const url = `http://${world.serverHost}:${gone.port}/`;
      const error = await failureOf(world.client.network.request({ method: "GET", url }));
      expect(error.code).toBe("REFUSED");
    }));

  it("fails with UNKNOWN_HOST for a name that does not exist", () =>
    run(async (world) => {
      const url = "http://no-such-host.invalid:80/";
      const error = await failureOf(world.client.network.request({ method: "GET", url }));
      expect(error.code).toBe("UNKNOWN_HOST");
    }));

  it("serves and asks over a unix socket", () =>
    run((world) =>
      withSocketPath(world, async (socketPath) => {
        const { network } = world.server;
        const options = { host: "localhost", port: 0, socketPath };
        const listener = await network.listen(options, answer("local"));
        const response = await network.request({
          method: "GET",
          url: "http://localhost/path",
          socketPath,
        });
        expect(await readText(response.body)).toBe("local");
        await listener.close();
      }),
    ));

  it("fails with ADDRESS_IN_USE for a unix socket in use, and REFUSED for an abandoned one", () =>
    run((world) =>
      withSocketPath(world, async (socketPath) => {
        const { network } = world.server;
        const request = { method: "GET", url: "http://localhost/", socketPath };
        const options = { host: "localhost", port: 0, socketPath };
        expect((await failureOf(network.request(request))).code).toBe("REFUSED");
        const first = await network.listen(options, answer("first"));
        const error = await failureOf(network.listen(options, answer("second")));
        expect(error.code).toBe("ADDRESS_IN_USE");
        await first.close();
        expect((await failureOf(network.request(request))).code).toBe("REFUSED");
        const second = await network.listen(options, answer("second"));
        expect(await readText((await network.request(request)).body)).toBe("second");
        await second.close();
      }),
    ));
}

function answer(text: string): (exchange: ServerExchange) => void {
  return (exchange) => exchange.respond(200).end(Buffer.from(text));
}

async function get(world: NetworkWorld, url: string): Promise<string> {
  const response = await world.client.network.request({ method: "GET", url: `${url}/` });
  return readText(response.body);
}

async function withSocketPath(
  world: NetworkWorld,
  use: (socketPath: string) => Promise<void>,
): Promise<void> {
  const { files } = world.server;
  const directory = await files.temporaryDirectory("network-contract-");
  try {
    await use(`${directory}/service.sock`);
  } finally {
    await files.remove(directory);
  }
}
