// HTTPS over real sockets: trusted servers, client certificates, and the names of the failures.
import { webcrypto } from "node:crypto";
import { createServer, type Server } from "node:https";
import type { TLSSocket } from "node:tls";
import { beforeAll, expect, it } from "vitest";
import { failureOf, readText } from "../../../tests/network/network-world.ts";
import {
  type CertificateAuthority,
  type KeyPair,
  makeAuthority,
} from "../../apiserver/certificate-authority.ts";
import type { ClientTls, Network } from "../network.ts";
import { nodeClock } from "./node-clock.ts";
import { nodeEnvironment } from "./node-environment.ts";

const host = "127.0.0.1";
let authority: CertificateAuthority;
let stranger: CertificateAuthority;
let serverPair: KeyPair;

beforeAll(async () => {
  const source = { clock: nodeClock, crypto: webcrypto };
  authority = await makeAuthority({ ...source, name: "ours" });
  stranger = await makeAuthority({ ...source, name: "strange" });
  serverPair = await authority.issueServer([host, "kubernetes.default.svc"]);
});

it("serves HTTPS to a client that trusts its authority", async () => {
  await whileListening(async (network, url) => {
    expect(await get(network, url, { ca: authority.ca })).toBe("secret");
  });
});

it("refuses a server whose authority it does not know, and says so", async () => {
  await whileListening(async (network, url) => {
    const error = await failureOf(get(network, url, { ca: stranger.ca }));
    expect(error.code).toBe("TLS");
    expect(error.message).toBe(
      `GET ${url}: the TLS handshake failed (unable to verify the first certificate); ` +
        "check the certificates",
    );
  });
});

it("refuses a server under a name its certificate does not have, unless the right one is given", async () => {
  await whileListening(async (network, url) => {
    const wrong = { ca: authority.ca, serverName: "other.example" };
    expect((await failureOf(get(network, url, wrong))).code).toBe("TLS");
    const right = { ca: authority.ca, serverName: "kubernetes.default.svc" };
    expect(await get(network, url, right)).toBe("secret");
  });
});

it("verifies a server by an address instead of a name", async () => {
  await whileListening(async (network, url) => {
    const elsewhere = url.replace(host, "localhost");
    const right = { ca: authority.ca, serverName: host };
    expect((await failureOf(get(network, elsewhere, { ca: authority.ca }))).code).toBe("TLS");
    expect(await get(network, elsewhere, right)).toBe("secret");
    const wrong = { ca: authority.ca, serverName: "127.0.0.2" };
    expect((await failureOf(get(network, url, wrong))).code).toBe("TLS");
  });
});

it("asks no server for an address as if it were a name", async () => {
  const server = createServer(serverPair, (request, response) =>
    response.end(String((request.socket as TLSSocket & { servername: unknown }).servername)),
  );
  const url = await listenRaw(server);
  const { network } = quietEnvironment();
  expect(await get(network, url, { ca: authority.ca, serverName: host })).toBe("false");
  server.closeAllConnections();
  server.close();
});

it("shows a server that it does not believe nothing of the request", async () => {
  let received = 0;
  const server = createServer(serverPair, () => {
    received += 1;
  });
  server.on("secureConnection", (socket) =>
    socket.on("data", (bytes) => (received += bytes.length)),
  );
  const url = await listenRaw(server);
  const { network } = quietEnvironment();
  for (const tls of [{ ca: stranger.ca }, { ca: authority.ca, serverName: "127.0.0.2" }]) {
    expect((await failureOf(get(network, url, tls))).code).toBe("TLS");
  }
  server.close();
  expect(received).toBe(0);
});

it("accepts any server when verification is off", async () => {
  await whileListening(async (network, url) => {
    expect(await get(network, url, { insecureSkipVerify: true })).toBe("secret");
  });
});

it("never sends a request over a connection made with another client's certificate", async () => {
  const [ann, bob] = await Promise.all([
    authority.issueClient("ann"),
    authority.issueClient("bob"),
  ]);
  const server = createServer(
    { ...serverPair, ca: authority.ca, requestCert: true, rejectUnauthorized: true },
    (request, response) => {
      const { subject } = (request.socket as TLSSocket).getPeerCertificate();
      response.end(`${String(subject.CN)} on ${request.socket.remotePort}`);
    },
  );
  const url = await listenRaw(server);
  const { network } = quietEnvironment();
  const answers: string[] = [];
  for (const client of [ann, bob, ann, bob]) {
    answers.push(await get(network, url, { ca: authority.ca, ...client }));
  }
  expect(answers.map((answer) => answer.split(" ")[0])).toEqual(["ann", "bob", "ann", "bob"]);
  expect(new Set(answers).size).toBe(2);
  expect((await failureOf(get(network, url, { ca: authority.ca }))).code).toBe("TLS");
  server.closeAllConnections();
  server.close();
});

it("goes on working through more identities than it keeps pools for", async () => {
  await whileListening(async (network, url) => {
    for (let count = 0; count < 70; count += 1) {
      // A comment before the PEM makes another identity of the same authority.
      expect(await get(network, url, { ca: `# ${count}\n${authority.ca}` })).toBe("secret");
    }
  });
});

async function whileListening(
  use: (network: Network, url: string) => Promise<void>,
): Promise<void> {
  const { network } = quietEnvironment();
  const listener = await network.listen({ host, port: 0, tls: serverPair }, (exchange) =>
    exchange.respond(200).end(Buffer.from("secret")),
  );
  try {
    await use(network, `https://${host}:${listener.port}/`);
  } finally {
    await listener.close();
  }
}

async function get(network: Network, url: string, tls: ClientTls): Promise<string> {
  return readText((await network.request({ method: "GET", url, tls })).body);
}

function quietEnvironment() {
  return nodeEnvironment({ log: { write: () => undefined } });
}

async function listenRaw(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not listening");
  return `https://${host}:${address.port}/`;
}
