// The server over real HTTPS, with the certificates made for it.
import { webcrypto } from "node:crypto";
import { expect, test } from "vitest";
import { nodeEnvironment } from "../environment/node/node-environment.ts";
import { ApiServer } from "./api-server.ts";
import { makeAuthority } from "./certificate-authority.ts";
import { MemoryStorage } from "./storage/memory-storage.ts";

test("a client that trusts the authority reaches the server over HTTPS, another does not", async () => {
  const environment = nodeEnvironment();
  const { clock, network } = environment;
  const own = await makeAuthority({ clock, crypto: webcrypto, name: "own" });
  const other = await makeAuthority({ clock, crypto: webcrypto, name: "other" });
  const server = new ApiServer({
    ...environment,
    storage: new MemoryStorage({ clock }),
    name: "live",
    gitVersion: "v1.33.1",
    authentication: { tokens: new Map() },
  });
  const { port } = await server.start({
    host: "127.0.0.2",
    port: 0,
    tls: await own.issueServer(["127.0.0.2"]),
  });
  try {
    const get = (ca: string) =>
      network.request({ method: "GET", url: `https://127.0.0.2:${port}/healthz`, tls: { ca } });
    const response = await get(own.ca);
    const chunks: Uint8Array[] = [];
    for await (const chunk of response.body) {
      chunks.push(chunk);
    }
    expect(Buffer.concat(chunks).toString("utf8")).toBe("ok");
    await expect(get(other.ca)).rejects.toMatchObject({ code: "TLS" });
  } finally {
    await server.stop();
  }
});
