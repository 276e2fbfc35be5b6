// TLS by real nginx: certificates are data, found by the name a client asks for.
import { webcrypto } from "node:crypto";
import { connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { connect, type TLSSocket } from "node:tls";
import { describe, expect, it } from "vitest";
import {
  type CertificateAuthority,
  type KeyPair,
  makeAuthority,
} from "../src/apiserver/certificate-authority.ts";
import { ControlError } from "../src/outputs/nginx/control-answer.ts";
import { PolicyWorld, rule } from "./policy-world.ts";
import { withoutNginx } from "./proxy-world.ts";

const tlsAddress = "127.0.0.2";
/** The certificate for names without one. */
const fallback = "Lockstep fallback certificate";

let authority: CertificateAuthority;

interface Handshake {
  /** The common name of the certificate. */
  readonly shown: string;
  readonly protocol: string | null;
  readonly alpn: string | false | null;
  readonly isResumed: boolean;
  readonly session: Buffer | undefined;
}

interface Hello {
  readonly alpn?: readonly string[];
  readonly session?: Buffer | undefined;
  readonly version?: "TLSv1.1" | "TLSv1.2" | "TLSv1.3";
}

describe.skipIf(withoutNginx !== false)("TLS", () => {
  const world = PolicyWorld.forFile(async ({ environment, port }) => {
    const { clock } = environment;
    authority = await makeAuthority({ clock, crypto: webcrypto, name: "test" });
    return {
      workers: 2,
      hstsMaxAgeSeconds: 3_600,
      listen: [
        { address: "127.0.0.1", port },
        { address: tlsAddress, port, tls: true },
      ],
    };
  });

  /** Shakes hands, asks for `/` and waits for the answer, with which a session comes. */
  const shake = (servername: string | undefined, hello: Hello = {}): Promise<Handshake> =>
    new Promise((resolve, reject) => {
      let session: Buffer | undefined;
      const { alpn = ["http/1.1"], version } = hello;
      const socket: TLSSocket = connect(
        {
          host: tlsAddress,
          port: world().proxy.port,
          rejectUnauthorized: false,
          ALPNProtocols: [...alpn],
          ...(servername === undefined ? {} : { servername }),
          ...(hello.session === undefined ? {} : { session: hello.session }),
          ...(version === undefined
            ? {}
            : { minVersion: version, maxVersion: version, ciphers: "DEFAULT@SECLEVEL=0" }),
        },
        () => {
          const { CN } = socket.getPeerCertificate().subject ?? {};
          const facts = {
            shown: String(CN ?? ""),
            protocol: socket.getProtocol(),
            alpn: socket.alpnProtocol,
            isResumed: socket.isSessionReused(),
          };
          socket.on("end", () => resolve({ ...facts, session }));
          if (socket.alpnProtocol === "h2") socket.end();
          else socket.write("GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n");
        },
      );
      socket.on("session", (one) => {
        session = one;
      });
      socket.on("data", () => undefined);
      socket.on("error", reject);
    });

  const push = async (
    certificates: Readonly<Record<string, KeyPair | null>>,
    serverNames: Readonly<Record<string, string | null>>,
  ) => {
    const pems = Object.entries(certificates).map(([name, pair]) => [
      name,
      pair && { chain: pair.cert, key: pair.key },
    ]);
    await world().change(JSON.stringify({ certificates: Object.fromEntries(pems), serverNames }));
  };

  const shownFor = async (...names: readonly (string | undefined)[]) => {
    const shown: string[] = [];
    for (const name of names) shown.push((await shake(name)).shown);
    return shown;
  };

  it("shows the fallback certificate for every name while there is no other", async () => {
    expect(await shownFor("a.example", undefined)).toEqual([fallback, fallback]);
  });

  it("finds a certificate by name, then by wildcard, then the one for any name", async () => {
    const [exact, wild] = [
      await authority.issueServer(["a.example"]),
      await authority.issueServer(["*.example"]),
    ];
    await push(
      { "ns/exact": exact, "ns/wild": wild },
      { "a.example": "ns/exact", "*.example": "ns/wild" },
    );
    const names = ["a.example", "A.EXAMPLE", "b.example", "c.b.example", "example", undefined];
    expect(await shownFor(...names)).toEqual([
      "a.example",
      "a.example",
      "*.example",
      fallback,
      fallback,
      fallback,
    ]);
    const any = await authority.issueServer(["any.test"]);
    await push({ "ns/any": any }, { "*": "ns/any" });
    expect(await shownFor("c.b.example", undefined, "a.example")).toEqual([
      "any.test",
      "any.test",
      "a.example",
    ]);
    await push({ "ns/any": null, "ns/wild": null }, { "*": null, "*.example": null });
    expect(await shownFor("b.example", "a.example")).toEqual([fallback, "a.example"]);
  });

  it("speaks HTTP/1.1 and HTTP/2, TLS 1.2 and 1.3, and nothing older", async () => {
    const facts = async (hello: Hello) => {
      const { protocol, alpn } = await shake("a.example", hello);
      return `${protocol} ${String(alpn)}`;
    };
    expect([
      await facts({ version: "TLSv1.2" }),
      await facts({ version: "TLSv1.3", alpn: ["h2", "http/1.1"] }),
    ]).toEqual(["TLSv1.2 http/1.1", "TLSv1.3 h2"]);
    await expect(shake("a.example", { version: "TLSv1.1" })).rejects.toThrow();
    await world().echo("web");
    await world().hosts({ "a.example": [rule("/", "web")] });
    const answer = await http2Get(`https://${tlsAddress}:${world().proxy.port}`, "a.example");
    expect(answer.status).toBe(200);
    expect(answer.body).toContain("X-Forwarded-Proto: https\r\n");
    expect(answer.body).toContain("Host: a.example\r\n");
  });

  it("serves a host only over connections with a certificate of the host's namespace", async () => {
    const [wild, own] = [
      await authority.issueServer(["*.wild.example"]),
      await authority.issueServer(["login.wild.example"]),
    ];
    await world().echo("b/web:80");
    const served = [rule("/", "b/web:80")];
    await world().hosts({
      "login.wild.example": served,
      "bare.wild.example": served,
      "shop.wild.example": served,
    });
    await push(
      { "a/wild": wild, "b/own": own },
      { "*.wild.example": "a/wild", "login.wild.example": "b/own", "bare.wild.example": "" },
    );
    expect(await shownFor("shop.wild.example", "login.wild.example", "bare.wild.example")).toEqual([
      "*.wild.example",
      "login.wild.example",
      fallback,
    ]);
    const url = `https://${tlsAddress}:${world().proxy.port}`;
    const statusOver = async (servername: string, host: string) =>
      (await http2Get(url, host, servername)).status;
    expect([
      await statusOver("shop.wild.example", "login.wild.example"),
      await statusOver("shop.wild.example", "bare.wild.example"),
      await statusOver("other.wild.example", "shop.wild.example"),
      await statusOver("login.wild.example", "login.wild.example"),
    ]).toEqual([421, 421, 200, 200]);
  });

  it("answers with 421 where the connection was opened for another listener of Gateways", async () => {
    await world().echo("a/web:80");
    const { port } = world().proxy;
    const ofListener = { ports: [port], isListener: true as const };
    const end = { path: "/", type: "Prefix" as const, service: "a/web:80", when: ofListener };
    const elsewhere = { ...end, when: { ...ofListener, ports: [1] } };
    const served = rule("/", "a/web:80");
    await world().hosts({
      "one.listen.example": [served],
      "two.listen.example": [served, end],
      "*.listen.example": [served, end],
      "**.listen.example": [served, end],
      "three.listen.example": [served, elsewhere],
      "catch.example": [served],
      "free.example": [served],
    });
    const pair = await authority.issueServer(["*.listen.example"]);
    await push({ "a/listen": pair }, { "*": "a/listen" });
    const url = `https://${tlsAddress}:${port}`;
    const seen: unknown[] = [];
    for (const [servername, host] of [
      // One listener for both: a wildcard, at any depth, also where a host has rules of its own.
      ["one.listen.example", "other.listen.example"],
      ["One.listen.example", "a.b.listen.example"],
      ["one.listen.example", "three.listen.example"],
      ["catch.example", "free.example"],
      ["catch.example", "lost.example"],
      // Two.
      ["one.listen.example", "two.listen.example"],
      ["two.listen.example", "a.b.listen.example"],
      ["catch.example", "two.listen.example"],
      ["two.listen.example", "free.example"],
      ["two.listen.example", "lost.example"],
      ["two.listen.example", "two.listen.example"],
    ] as const) {
      seen.push((await http2Get(url, host, servername)).status);
    }
    expect(seen).toEqual([200, 200, 200, 200, 404, 421, 421, 421, 421, 421, 200]);
    await push({}, { "*": "" });
  });

  it("has browsers use https alone where it is asked for, unless the endpoint says otherwise", async () => {
    await world().echo("quiet");
    await world().echo("outspoken", "Strict-Transport-Security: max-age=1\r\n");
    await world().hosts({
      "quiet.example": [rule("/", "quiet"), rule("/large", "quiet", { largeHeaders: true })],
      "outspoken.example": [rule("/", "outspoken")],
    });
    const url = `https://${tlsAddress}:${world().proxy.port}`;
    const header = "strict-transport-security";
    const overTls = async (host: string, path?: string) =>
      (await http2Get(url, host, host, path)).headers[header];
    expect([
      await overTls("quiet.example"),
      await overTls("quiet.example", "/large"),
      await overTls("outspoken.example"),
      await overTls("nowhere.test"),
      (await world().ask("quiet.example")).headers[header],
    ]).toEqual(["max-age=3600", "max-age=3600", "max-age=1", "max-age=3600", undefined]);
  });

  it("shows a replaced certificate to the next handshake, and fails none meanwhile", async () => {
    const pairs: KeyPair[] = [];
    for (const name of ["first", "second"]) {
      pairs.push(await authority.issueServer([`${name}.test`, "hot.example"]));
    }
    let isOver = false;
    let shakes = 0;
    const [first, second] = pairs;
    if (first === undefined || second === undefined) throw new Error("two were made");
    await push({ "ns/hot": first }, { "hot.example": "ns/hot" });
    const clients = Array.from({ length: 4 }, async () => {
      while (!isOver) {
        expect((await shake("hot.example")).shown).toMatch(/^(first|second)\.test$/);
        shakes += 1;
      }
    });
    for (let change = 0; change < 20 || shakes <= 20; change += 1) {
      const [pair, name] = change % 2 === 0 ? [second, "second.test"] : [first, "first.test"];
      await push({ "ns/hot": pair }, {});
      const seen = await Promise.all(Array.from({ length: 4 }, () => shake("hot.example")));
      expect(new Set(seen.map(({ shown }) => shown))).toEqual(new Set([name]));
    }
    isOver = true;
    await Promise.all(clients);
  });

  it("passes nothing on that it should verify without a CA bundle", async () => {
    await world().echo("unproved");
    await world().hosts({
      "unproved.example": [rule("/", "unproved", { protocol: "https", verifyUpstream: true })],
    });
    expect((await world().ask("unproved.example", "/")).status).toBe(502);
  });

  it("resumes a session with either worker", async () => {
    for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
      const { session, isResumed } = await shake("a.example", { version });
      expect(isResumed).toBe(false);
      const again = Array.from({ length: 4 }, () => shake("a.example", { version, session }));
      const resumed = (await Promise.all(again)).filter((one) => one.isResumed);
      // A ticket of TLS 1.3 is good once.
      expect(resumed.length).toBeGreaterThanOrEqual(1);
    }
  });

  it("shows nothing that is no certificate or key, and never writes a key into a log", async () => {
    const fine = await authority.issueServer(["fine.example"]);
    for (const broken of [
      { cert: "nothing", key: fine.key },
      { cert: fine.cert, key: "nothing" },
    ]) {
      const refused = push({ "ns/broken": broken }, { "broken.example": "ns/broken" });
      const error = await refused.catch((reason: unknown) => reason);
      expect(error instanceof ControlError && error.code).toBe("MALFORMED");
    }
    const damaged = { cert: fine.cert, key: fine.key.replace(/\n.{8}/, "\nAAAAAAAA") };
    await push({ "ns/damaged": damaged }, { "damaged.example": "ns/damaged" });
    expect(await shownFor("broken.example", "damaged.example")).toEqual([fallback, fallback]);
    const { files } = world().proxy.environment;
    for (const log of ["error.log", "access.log"]) {
      const text = Buffer.from((await files.read(`${world().proxy.prefix}/logs/${log}`)) ?? []);
      expect(text.toString()).not.toMatch(/PRIVATE KEY|AAAAAAAA/);
    }
  });
});

function http2Get(
  url: string,
  host: string,
  servername = host,
  path = "/",
): Promise<{ status: number; headers: IncomingHttpHeaders; body: string }> {
  return new Promise((resolve, reject) => {
    const session = connectHttp2(url, { rejectUnauthorized: false, servername });
    session.on("error", reject);
    const stream = session.request({ ":path": path, ":authority": host });
    let status = 0;
    let headers: IncomingHttpHeaders = {};
    let body = "";
    stream.on("response", (found) => {
      status = Number(found[":status"]);
      headers = found;
    });
    stream.on("data", (chunk: Buffer) => {
      body += chunk.toString("latin1");
    });
    stream.on("end", () => {
      session.close();
      resolve({ status, headers, body });
    });
    stream.on("error", reject);
  });
}
