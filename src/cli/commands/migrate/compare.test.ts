import { expect, test } from "vitest";
import { RecordedTerminal } from "../../../../tests/terminal/recorded-terminal.ts";
import type { ExchangeHandler, IncomingRequest } from "../../../environment/network.ts";
import { simulate } from "../../../simulation/simulation.ts";
import { runProgram } from "../../program.ts";

const manifests = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: web, namespace: shop }
spec:
  ingressClassName: nginx
  rules:
    - host: web.example
      http:
        paths:
          - { path: /, pathType: Prefix, backend: { service: { name: web, port: { number: 80 } } } }
          - { path: /cart, pathType: Exact, backend: { service: { name: web, port: { number: 80 } } } }
`;

interface Served {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

type Serve = (request: IncomingRequest, count: number) => Served;

/** Both proxies answer as they are set to; returns the requests that they received. */
async function compare(serve: { old?: Serve; new?: Serve }, ...flags: readonly string[]) {
  const terminal = new RecordedTerminal();
  const { signal: stop } = new AbortController();
  const received: string[] = [];
  const at: number[] = [];
  const result = await simulate({ seed: 1 }, async (simulation) => {
    const here = simulation.host("here");
    for (const side of ["old", "new"] as const) {
      let count = 0;
      const handler: ExchangeHandler = (exchange) => {
        const { request } = exchange;
        count += 1;
        received.push(`${side} ${request.method} ${request.headers["host"]}${request.target}`);
        if (side === "old") at.push(here.clock.wallMs());
        const { status = 200, headers = {}, body = "" } = serve[side]?.(request, count) ?? {};
        exchange.respond(status, headers).end(Buffer.from(request.method === "HEAD" ? "" : body));
      };
      if (serve[side] !== undefined) {
        await simulation.host(side).network.listen({ host: side, port: 80 }, handler);
      }
    }
    await here.files.makeDirectory("/m");
    await here.files.write("/m/a.yaml", manifests);
    const log = (method: string, target: string) =>
      `192.0.2.1 - - [01/Jan/2026:00:00:00 +0000] "${method} ${target} HTTP/1.1" 200 2 "-" "x"`;
    const lines = [
      log("GET", "/a?x=1"),
      log("POST", "/b"),
      log("GET", "/a?x=1"),
      log("DELETE", "/c"),
      log("HEAD", "/d"),
      log("GET", "/logout"),
    ];
    await here.files.write("/access.log", `${lines.join("\n")}\n`);
    const input = flags.some((flag) => flag === "--access-log") ? [] : ["/m"];
    const args = [
      "migrate",
      "compare",
      "--old",
      "http://old",
      "--new",
      "http://new",
      ...input,
      ...flags,
    ];
    const code = await runProgram({ environment: here, terminal, stop }, "1", args);
    return code;
  });
  return { code: result, out: terminal.out, received, at };
}

const always =
  (served: Served): Serve =>
  () =>
    served;

test("the same answers are the same, and only GET and HEAD are sent", async () => {
  const { code, out, received, at } = await compare({
    old: always({
      body: "a",
      headers: { date: "1", "x-request-id": "1", "set-cookie": "s=1; Path=/" },
    }),
    new: always({
      body: "a",
      headers: { date: "2", "x-request-id": "2", "set-cookie": "s=2; Path=/" },
    }),
  });
  expect([code, out]).toEqual([
    0,
    "4 requests: 4 same, 0 differ, 0 change by themselves.\n" +
      "Left out: date (4), cookie values (4), x-request-id (4).\n",
  ]);
  const sent = [
    "GET web.example/",
    "HEAD web.example/",
    "GET web.example/cart",
    "HEAD web.example/cart",
  ];
  expect(received.filter((one) => one.startsWith("old")).sort()).toEqual(
    sent.map((one) => `old ${one}`).sort(),
  );
  // Five a second.
  expect(Math.min(...at.slice(1).map((ms, index) => ms - (at[index] ?? 0)))).toBeGreaterThanOrEqual(
    200,
  );
});

test("status, headers, redirects and bodies that differ are listed", async () => {
  const { code, out } = await compare({
    old: ({ target }) =>
      target === "/"
        ? { body: "old page", headers: { "cache-control": "no-store" } }
        : { status: 308, headers: { location: "https://web.example/cart" } },
    new: ({ target }) =>
      target === "/" ? { body: "new page" } : { status: 302, headers: { location: "/cart" } },
  });
  expect(code).toBe(1);
  expect(out).toBe(`! GET web.example/
  cache-control
    old  no-store
    new  (none)
  body
    old  8 bytes, sha256 65e2c41ac941
    new  8 bytes, sha256 08b26653c53c

! HEAD web.example/
  cache-control
    old  no-store
    new  (none)

! GET web.example/cart
  status
    old  308
    new  302
  location
    old  https://web.example/cart
    new  /cart

! HEAD web.example/cart
  status
    old  308
    new  302
  location
    old  https://web.example/cart
    new  /cart

4 requests: 0 same, 4 differ, 0 change by themselves.
`);
});

test("a page that changes by itself is not called different, but its status is", async () => {
  const changing: Serve = (_, count) => ({ body: `old ${count}` });
  const other: Serve = (_, count) => ({ body: `new ${count}` });
  const { code, out } = await compare({ old: changing, new: other });
  expect([code, out]).toEqual([
    0,
    expect.stringContaining("2 same, 0 differ, 2 change by themselves"),
  ]);
  const broken = await compare({
    old: changing,
    new: (_, count) => ({ status: 500, body: `${count}` }),
  });
  expect([broken.code, broken.out]).toEqual([1, expect.stringContaining("0 same, 4 differ")]);
});

test("a path and the same address with scheme and host are the same redirect", async () => {
  const redirect = (location: string) => always({ status: 302, headers: { location } });
  const { code, out } = await compare({
    old: redirect("http://web.example/x"),
    new: redirect("/x"),
  });
  expect([code, out]).toEqual([0, expect.stringContaining("form of location (4)")]);
});

test("from an access log each GET and HEAD is sent once, and nothing else", async () => {
  const page = always({ body: "a" });
  const log = ["--access-log", "/access.log", "--host", "web.example", "--skip", "logout"];
  const { received, out, code } = await compare({ old: page, new: page }, ...log);
  expect(code).toBe(0);
  expect(received.filter((one) => one.startsWith("new"))).toEqual([
    "new GET web.example/a?x=1",
    "new HEAD web.example/d",
  ]);
  expect(out).toContain("2 requests not sent: with another method than GET and HEAD.");
  expect(out).toContain("1 request not sent: left out by --skip.");
});

test("a long body is read up to the bound, and the number of requests is bounded", async () => {
  const long = (end: string) => always({ body: `${"x".repeat(4_096)}${end}` });
  const flags = ["--max-body", "1", "--limit", "1", "--json"];
  const { code, out } = await compare({ old: long("a"), new: long("b") }, ...flags);
  const { summary, requests, notes } = JSON.parse(out);
  expect(code).toBe(0);
  expect(summary).toEqual({ requests: 1, same: 1, differ: 0, changeByThemselves: 0 });
  expect(requests).toEqual([expect.objectContaining({ method: "GET", verdict: "same" })]);
  expect(notes).toEqual(["3 requests not sent: beyond --limit 1"]);
});

test("headers and bodies can be added and left out", async () => {
  const sides = {
    old: always({ status: 404, body: "old", headers: { "x-own": "1", "content-type": "a/b" } }),
    new: always({ status: 404, body: "new", headers: { "x-own": "2", "content-type": "c/d" } }),
  };
  const ignored = await compare(sides, "--ignore-header", "content-type");
  expect([ignored.code, ignored.out]).toEqual([
    0,
    expect.stringContaining("bodies of redirects and errors (2)"),
  ]);
  const all = await compare(
    sides,
    "--ignore-header",
    "Content-Type",
    "--header",
    "X-Own",
    "--all-bodies",
    "--json",
  );
  const { requests } = JSON.parse(all.out);
  expect(requests[0].differences.map(({ what }: { what: string }) => what)).toEqual([
    "x-own",
    "body",
  ]);
});

test("an address without a proxy ends the command with a sentence", async () => {
  await expect(compare({ old: always({}) })).rejects.toThrow(/http:\/\/new does not answer/);
});

test("control characters of an answer do not reach the terminal", async () => {
  const evil = "\u009b2J\u0085x";
  const { out } = await compare({
    old: always({ headers: { location: evil, "content-type": evil } }),
    new: always({}),
  });
  expect(out.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});
