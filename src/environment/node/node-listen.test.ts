// Listening on real addresses: unix socket files, and addresses that are taken.
import { chmod, stat, writeFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { failureOf, readText } from "../../../tests/network/network-world.ts";
import type { ServerExchange } from "../network.ts";
import { nodeEnvironment } from "./node-environment.ts";

const host = "127.0.0.1";
const environment = nodeEnvironment({ log: { write: () => undefined } });

describe("a unix socket", () => {
  let directory: string;
  beforeEach(async () => {
    directory = await environment.files.temporaryDirectory("node-network-");
  });
  afterEach(() => environment.files.remove(directory));

  const optionsOf = (socketPath: string) => ({ host: "localhost", port: 0, socketPath });

  it("is for its owner alone, and its file goes with its listener", async () => {
    const socketPath = `${directory}/service.sock`;
    const listener = await environment.network.listen(optionsOf(socketPath), answer);
    expect((await stat(socketPath)).mode & 0o777).toBe(0o600);
    await listener.close();
    expect(await environment.files.list(directory)).toEqual([]);
  });

  it("replaces the file that a killed process left", async () => {
    const socketPath = `${directory}/service.sock`;
    const script = `require("net").createServer().listen(${JSON.stringify(socketPath)}, () =>
      process.kill(process.pid, "SIGKILL"))`;
    await environment.processes.run(process.execPath, ["-e", script], { timeoutMs: 20_000 });
    expect(await environment.files.list(directory)).toEqual(["service.sock"]);
    const listener = await environment.network.listen(optionsOf(socketPath), answer);
    const request = { method: "GET", url: "http://localhost/", socketPath };
    expect(await readText((await environment.network.request(request)).body)).toBe("ok");
    await listener.close();
  });

  it("never replaces a file that is not a socket", async () => {
    const socketPath = `${directory}/precious`;
    await writeFile(socketPath, "content");
    await chmod(socketPath, 0o644);
    const error = await failureOf(environment.network.listen(optionsOf(socketPath), answer));
    expect(error.code).toBe("ADDRESS_IN_USE");
    expect((await stat(socketPath)).size).toBe(7);
  });
});

describe("an address that is taken", () => {
  it("is named, with what to do about it", async () => {
    const listener = await environment.network.listen({ host, port: 0 }, answer);
    const options = { host, port: listener.port };
    const error = await failureOf(environment.network.listen(options, answer));
    expect(error.message).toBe(
      `cannot listen on ${host}:${listener.port}: another process already does. ` +
        "Stop that process or choose another address (port 0 takes any free port).",
    );
    await listener.close();
  });
});

function answer(exchange: ServerExchange): void {
  exchange.respond(200).end(Buffer.from("ok"));
}
