// Requests that could mean one thing to the proxy and another to an endpoint: for each, the
// documented answer, and the request at the endpoint. Rules protect `/admin`; no other form of it
// may reach `open`.
import { beforeAll, describe, expect, it } from "vitest";
import { PolicyWorld, rule } from "./policy-world.ts";
import { withoutNginx } from "./proxy-world.ts";

describe.skipIf(withoutNginx !== false)("a request that could mean two things", () => {
  const world = PolicyWorld.forFile();

  beforeAll(async () => {
    for (const name of ["open", "admin", "other"]) await world().echo(name);
    await world().hosts({
      h: [rule("/", "open"), rule("/admin", "admin")],
      "other.example": [rule("/", "other")],
    });
  });

  /** `200 service GET /target`, or the status alone. */
  const outcome = async (text: string): Promise<string> => {
    const answer = await world().raw(text);
    const status = answer.slice("HTTP/1.1 ".length, "HTTP/1.1 200".length);
    if (status !== "200") return status;
    const [, body = ""] = answer.split("\r\n\r\n");
    const [service = "", line = ""] = body.split("\n");
    return `200 ${service} ${line.trim().replace(" HTTP/1.1", "")}`;
  };

  const targets = async (list: readonly string[]): Promise<Record<string, string>> => {
    const outcomes: Record<string, string> = {};
    for (const target of list) {
      outcomes[target] = await outcome(
        `GET ${target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`,
      );
    }
    return outcomes;
  };

  it("is passed on unchanged when it is unambiguous", async () => {
    const expected = {
      "/a%2Fb": "200 open GET /a%2Fb",
      "/admin%2Fx": "200 admin GET /admin%2Fx",
      "/%61dmin": "200 admin GET /%61dmin",
      "/%2561dmin": "200 open GET /%2561dmin",
      "/%252e%252e/admin": "200 open GET /%252e%252e/admin",
      "/ADMIN": "200 open GET /ADMIN",
      "/x;v=1/admin;v=2?q;r": "200 open GET /x;v=1/admin;v=2?q;r",
      "/admin/x;v=1": "200 admin GET /admin/x;v=1",
      "/x/...": "200 open GET /x/...",
      "/.well-known/x": "200 open GET /.well-known/x",
      "/x%0d%0aHost:%20evil": "200 open GET /x%0d%0aHost:%20evil",
      "/users/CORP%5Cann": "200 open GET /users/CORP%5Cann",
      "/admin/CORP%5cann": "200 admin GET /admin/CORP%5cann",
      "/%255c../admin": "200 open GET /%255c../admin",
      "/%C3%A9\xe9": "200 open GET /%C3%A9\xe9",
      '/"<>^`{|}': '200 open GET /"<>^`{|}',
      "/a%26b+c%2Bd?x=%2F..%2F&y=/../": "200 open GET /a%26b+c%2Bd?x=%2F..%2F&y=/../",
      "/x?/../admin": "200 open GET /x?/../admin",
    };
    expect(await targets(Object.keys(expected))).toEqual(expected);
  });

  it("is sent on as it was matched when its dots or slashes are in doubt", async () => {
    const expected = {
      "/x/../admin": "200 admin GET /admin",
      "/x/%2e%2e/admin": "200 admin GET /admin",
      "/x/%2E./admin?q=/../": "200 admin GET /admin?q=/../",
      "/admin/../x": "200 open GET /x",
      "/admin/..%2fx": "200 open GET /x",
      "/admin%2f..%2fx": "200 open GET /x",
      "/admin//../x": "200 open GET /x",
      "/./admin": "200 admin GET /admin",
      "//admin": "200 admin GET /admin",
      "/%2fadmin": "200 admin GET /admin",
      "/x//admin": "200 open GET /x/admin",
      "/a%2f%2fb%3Fc%25": "200 open GET /a/b%3Fc%25",
      "/a/.": "200 open GET /a/",
      "/a/%2e": "200 open GET /a/",
      "/x/..": "200 open GET /",
      "/users/CORP\\ann": "200 open GET /users/CORP%5Cann",
      "/x%5cy/../admin": "200 admin GET /admin",
      "/x#/../admin": "200 open GET /x",
    };
    expect(await targets(Object.keys(expected))).toEqual(expected);
  });

  it("is refused when no meaning is right", async () => {
    const expected = {
      "/../x": "400",
      "/%2e%2e/x": "400",
      "/x/..;/admin": "400",
      "/x/..%3bv=1/admin": "400",
      "/x/%2e%2e;/admin": "400",
      "/x/.;/admin": "400",
      "/x\\..\\admin": "400",
      "/x%5C..%5Cadmin": "400",
      "/x/..%5cadmin": "400",
      "/x/..%5Cadmin": "400",
      "/x/%2e%2e%5cadmin": "400",
      "/x/.%2E%5Cadmin": "400",
      "/x%5c..": "400",
      "/x%5c.%5cy": "400",
      "/x%5c..;v=1/admin": "400",
      "/%5cadmin": "400",
      "/\\admin": "400",
      "/admin%5cx": "400",
      "/%5cadmin;v=1": "400",
      "/admin;v=1/x": "400",
      "/;v=1/admin": "400",
      "/admin%3bv=1": "400",
      "/x%00admin": "400",
      "/a%zz": "400",
      "/a%": "400",
      "/a b": "400",
      "/a\tb": "400",
      "/a\x01b": "400",
      "/a\x7fb": "400",
      "*": "400",
      admin: "400",
      [`/${"a".repeat(17_000)}`]: "414",
    };
    expect(await targets(Object.keys(expected))).toEqual(expected);
  });

  it("belongs to the host of its target, whatever the Host header says", async () => {
    const expected = {
      "http://other.example/abs": "200 other GET /abs",
      "http://OTHER.example:99/x": "200 other GET /x",
      "https://other.example/x": "200 other GET /x",
      "http://other.example": "200 other GET /",
      "http://other.example?q": "200 other GET /?q",
      "http://h/x/../admin": "200 admin GET /admin",
      "http://h@other.example/x": "400",
    };
    expect(await targets(Object.keys(expected))).toEqual(expected);
    const target = "GET http://other.example/x HTTP/1.1";
    const answer = await world().raw(`${target}\r\nHost: h:81\r\nConnection: close\r\n\r\n`);
    expect(answer).toContain("\r\nHost: other.example\r\n");
    expect(answer).toContain("\r\nX-Forwarded-Host: other.example\r\n");
  });

  it("has one host, or none", async () => {
    const hosts = {
      "Host: h\r\nHost: other.example": "400",
      "Host: h\r\nHost: h": "400",
      "Host: other.example, h": "400",
      "Host: h/../x": "400",
      "Host : h": "400",
      "X: no host": "400",
      "Host: h.": "200 open GET /",
      "Host: H:81": "200 open GET /",
      "Host: h@other.example": "404",
    };
    const outcomes: Record<string, string> = {};
    for (const lines of Object.keys(hosts)) {
      outcomes[lines] = await outcome(`GET / HTTP/1.1\r\n${lines}\r\nConnection: close\r\n\r\n`);
    }
    expect(outcomes).toEqual(hosts);
  });

  it("has one length, said in one way", async () => {
    const chunked = "Transfer-Encoding: chunked";
    const bodies = {
      "Content-Length: 3\r\nContent-Length: 4|abcd": "400",
      "Content-Length: 3\r\nContent-Length: 3|abc": "400",
      "Content-Length: 3, 3|abc": "400",
      "Content-Length: +3|abc": "400",
      "Content-Length: 3 4|abc": "400",
      "Content-Length: -1|": "400",
      "Content-Length: 99999999999999999999|": "400",
      [`Content-Length: 6\r\n${chunked}|0\r\n\r\nG`]: "400",
      [`${chunked}\r\nContent-Length: 3|8\r\nSMUGGLED\r\n0\r\n\r\n`]: "400",
      [`${chunked}\r\n${chunked}|0\r\n\r\n`]: "400",
      [`${chunked}\r\nTransfer-Encoding: identity|0\r\n\r\n`]: "400",
      "Transfer-Encoding: chunked, identity|0\r\n\r\n": "501",
      "Transfer-Encoding: identity\r\nContent-Length: 3|abc": "501",
      "Transfer-Encoding: xchunked|0\r\n\r\n": "501",
      "Transfer-Encoding: \x0bchunked|0\r\n\r\n": "501",
      "Transfer-Encoding:\r\n chunked|0\r\n\r\n": "400",
      "Transfer-Encoding : chunked\r\nContent-Length: 5|0\r\n\r\n": "400",
      [`${chunked}|zz\r\n\r\n`]: "400",
      [`${chunked}|-1\r\n\r\n`]: "400",
      "Content-Length: 3|abc": "200 open POST /",
    };
    const outcomes: Record<string, string> = {};
    for (const one of Object.keys(bodies)) {
      const [lines = "", body = ""] = one.split("|");
      outcomes[one] = await outcome(
        `POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n${lines}\r\n\r\n${body}`,
      );
    }
    expect(outcomes).toEqual(bodies);
    const old = `POST / HTTP/1.0\r\nHost: h\r\n${chunked}\r\n\r\n0\r\n\r\n`;
    expect(await outcome(old)).toBe("400");
  });

  it("has header lines that end as they should, and not too many of them", async () => {
    const heads = {
      "X-A: a\r\n folded": "400",
      "X-A: a\rX-B: b": "400",
      "X-A: a\0b": "400",
      "X A: a": "400",
      [`X-A: ${"a".repeat(20_000)}`]: "400",
      ["X-A: a\r\n".repeat(20_000)]: "400",
      "X-A: a\nX-B: b": "200 open GET /",
    };
    const outcomes: Record<string, string> = {};
    for (const lines of Object.keys(heads)) {
      const head = `GET / HTTP/1.1\r\nHost: h\r\n${lines}\r\nConnection: close\r\n\r\n`;
      outcomes[lines] = await outcome(head);
    }
    expect(outcomes).toEqual(heads);
    const lines = ["GET / HTTP/1.2", "GET / HTTP/2.0", "TRACE / HTTP/1.1", "CONNECT h:80 HTTP/1.1"];
    const others: string[] = [];
    for (const line of lines) {
      others.push(await outcome(`${line}\r\nHost: h\r\nConnection: close\r\n\r\n`));
    }
    expect(others).toEqual(["200 open GET /", "505", "405", "400"]);
  });

  it("ends where its length says, also when it is refused", async () => {
    const hidden = "GET /admin HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    const last = "GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    const length = `Content-Length: ${hidden.length}`;
    const head = `POST / HTTP/1.1\r\nHost: nowhere.example\r\n${length}\r\n\r\n`;
    const answer = await world().raw(head + hidden + last);
    const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status);
    expect(statuses).toEqual(["404", "200"]);
    expect(answer).toContain("\r\n\r\nopen\nGET /last HTTP/1.1\r\n");
    expect(answer).not.toContain("/admin");
  });

  it("keeps from the endpoint what is between us and the client", async () => {
    const lines = [
      "Connection: close, Upgrade, HTTP2-Settings",
      "Upgrade: h2c",
      "Proxy: http://evil.example",
      "X_Forwarded_For: 6.6.6.6",
      "X-Forwarded-For: 6.6.6.6",
      "TE: trailers",
      "Keep-Alive: 5",
      ...["Original-URL", "Original-URI", "Original-Host", "Original-Method", "Rewrite-URL"]
        .concat(["Forwarded-Uri", "Forwarded-Method", "Forwarded-Server", "Forwarded-Path"])
        .concat(["Auth-Request-Redirect", "Host"])
        .map((name) => `X-${name}: /admin`),
    ];
    const head = `GET / HTTP/1.1\r\nHost: h\r\n${lines.join("\r\n")}\r\n\r\n`;
    const answer = await world().raw(head, { answers: 1 });
    const [, seen = ""] = answer.split("\nGET / HTTP/1.1\r\n");
    const names = seen
      .trimEnd()
      .split("\r\n")
      .map((line) => line.split(":")[0]);
    expect(new Set(names)).toEqual(
      new Set([
        "Host",
        "X-Forwarded-For",
        "X-Forwarded-Host",
        "X-Forwarded-Port",
        "X-Forwarded-Proto",
        "X-Forwarded-Scheme",
        "X-Original-Forwarded-For",
        "X-Real-IP",
        "X-Request-ID",
        "X-Scheme",
      ]),
    );
    const original = "\r\nX-Original-Forwarded-For: 6.6.6.6\r\n";
    expect(seen).toContain(original);
    expect(seen.replace(original, "\r\n")).not.toContain("6.6.6.6");
  });
});
