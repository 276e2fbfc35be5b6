// The verdicts of `lockstep migrate check` tried on the real proxy: with "same" the answer is the one that
// ingress-nginx documents, or that its template and Lua give; with "differs" or "refused" it is another.
// And `lockstep migrate compare` between the stock ingress on a real nginx and Lockstep.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runProgram } from "../src/cli/program.ts";
import { Routing } from "../src/decide/routing/routing.ts";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { LivePlane } from "../src/lab/stock/live/live-plane.ts";
import { check } from "../src/migrate/check.ts";
import { FoundObjects } from "../src/migrate/found-objects.ts";
import { checkOptions } from "../tests/migrate/check-options.ts";
import { RecordedTerminal } from "../tests/terminal/recorded-terminal.ts";
import { type Asked, headerOf, lineOf, PolicyWorld, serviceOf } from "./policy-world.ts";
import { withoutNginx } from "./proxy-world.ts";

interface Short {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly path?: string;
  readonly type?: string;
  readonly service?: string;
}

function ingress(name: string, host: string, short: Short): object {
  const { annotations = {}, path = "/", type = "Prefix", service = "web" } = short;
  const named = Object.entries(annotations).map(([key, value]) => [
    `nginx.ingress.kubernetes.io/${key}`,
    value,
  ]);
  const backend = { service: { name: service, port: { number: 80 } } };
  return {
    kind: "Ingress",
    metadata: { name, namespace: "default", annotations: Object.fromEntries(named) },
    spec: {
      ingressClassName: "nginx",
      rules: [{ host, http: { paths: [{ path, pathType: type, backend }] } }],
    },
  };
}

interface Case {
  readonly name: string;
  readonly ingresses: readonly Short[];
  /** The verdict on the first of them. */
  readonly verdict: "same" | "differs" | "refused";
  readonly asked: Asked & { readonly target: string; readonly times?: number };
  /** In ingress-nginx: the status, the Location, and the request line, service or header for the endpoint. */
  readonly documented: string;
}

const regex = { "use-regex": "true", "rewrite-target": "/$2" };

/** Documents: docs/user-guide and docs/examples of ingress-nginx 1.15.1; else its nginx.tmpl and Lua. */
const cases: readonly Case[] = [
  {
    name: "rewrite with groups",
    ingresses: [
      { annotations: regex, path: "/something(/|$)(.*)", type: "ImplementationSpecific" },
    ],
    verdict: "same",
    asked: { target: "/something/new" },
    documented: "200 web GET /new",
  },
  {
    name: "rewrite with empty groups",
    ingresses: [
      { annotations: regex, path: "/something(/|$)(.*)", type: "ImplementationSpecific" },
    ],
    verdict: "same",
    asked: { target: "/something" },
    documented: "200 web GET /",
  },
  {
    name: "rewrite of a plain path",
    ingresses: [{ annotations: { "rewrite-target": "/" }, path: "/old" }],
    verdict: "differs",
    asked: { target: "/older" },
    documented: "200 web GET /",
  },
  {
    name: "a prefix by elements",
    ingresses: [{ path: "/foo" }],
    verdict: "same",
    asked: { target: "/foobar" },
    documented: "404",
  },
  {
    name: "a prefix and what is below it",
    ingresses: [{ path: "/foo", type: "ImplementationSpecific" }],
    verdict: "same",
    asked: { target: "/foo/bar" },
    documented: "200 web GET /foo/bar",
  },
  {
    name: "a plain path beside an expression",
    ingresses: [
      { path: "/shop" },
      {
        annotations: { "use-regex": "true" },
        path: "/feed/[a-z]+",
        type: "ImplementationSpecific",
      },
    ],
    verdict: "differs",
    asked: { target: "/shopping" },
    documented: "200 web GET /shopping",
  },
  {
    name: "a permanent redirect",
    ingresses: [{ annotations: { "permanent-redirect": "https://new.example/x" } }],
    verdict: "same",
    asked: { target: "/" },
    documented: "301 https://new.example/x",
  },
  {
    name: "a redirect to a path",
    ingresses: [{ annotations: { "temporal-redirect": "/maintenance" } }],
    verdict: "differs",
    asked: { target: "/" },
    documented: "302 http://HOST/maintenance",
  },
  {
    name: "an application root",
    ingresses: [{ annotations: { "app-root": "/app1" } }],
    verdict: "differs",
    asked: { target: "/" },
    documented: "302 http://HOST/app1",
  },
  {
    name: "a redirect to https",
    ingresses: [{ annotations: { "force-ssl-redirect": "true" } }],
    verdict: "same",
    asked: { target: "/a?b=1" },
    documented: "308 https://HOST/a?b=1",
  },
  {
    name: "clients outside an allowlist",
    ingresses: [{ annotations: { "whitelist-source-range": "203.0.113.0/24" } }],
    verdict: "same",
    asked: { target: "/" },
    documented: "403",
  },
  {
    name: "clients in a denylist",
    ingresses: [{ annotations: { "denylist-source-range": "127.0.0.0/8" } }],
    verdict: "same",
    asked: { target: "/" },
    documented: "403",
  },
  {
    name: "a body that is too large",
    ingresses: [{ annotations: { "proxy-body-size": "1k" } }],
    verdict: "same",
    asked: { target: "/", method: "POST", body: "x".repeat(2_000) },
    documented: "413",
  },
  {
    name: "a rate limit",
    ingresses: [{ annotations: { "limit-rps": "1", "limit-burst-multiplier": "1" } }],
    verdict: "differs",
    asked: { target: "/", times: 20 },
    documented: "503",
  },
  {
    name: "OPTIONS without an origin",
    ingresses: [{ annotations: { "enable-cors": "true" } }],
    verdict: "differs",
    asked: { target: "/", method: "OPTIONS" },
    documented: "204",
  },
  {
    name: "a canary by header",
    ingresses: [
      {},
      { annotations: { canary: "true", "canary-by-header": "X-Try" }, service: "canary" },
    ],
    verdict: "same",
    asked: { target: "/", headers: { "x-try": "always" } },
    documented: "200 canary GET /",
  },
  {
    name: "a Host header for the endpoint",
    ingresses: [{ annotations: { "upstream-vhost": "inner.example" } }],
    verdict: "same",
    asked: { target: "/" },
    documented: "200 web GET / host=inner.example",
  },
  {
    name: "a prefix header without a rewrite",
    ingresses: [{ annotations: { "x-forwarded-prefix": "/app" } }],
    verdict: "differs",
    asked: { target: "/" },
    documented: "200 web GET /",
  },
  {
    name: "client certificates",
    ingresses: [{ annotations: { "auth-tls-secret": "default/ca" } }],
    verdict: "refused",
    asked: { target: "/" },
    documented: "200 web GET /",
  },
];

const shownHeaders = ["x-forwarded-prefix"];

describe.skipIf(withoutNginx !== false)("a verdict", () => {
  const world = PolicyWorld.forFile();

  beforeAll(async () => {
    for (const name of ["web", "canary"]) await world().echo(`default/${name}:80`);
  });

  it.each(cases)("on $name holds: $verdict", async (one) => {
    const host = `case-${cases.indexOf(one)}.example`;
    const found = new FoundObjects();
    for (const [index, short] of one.ingresses.entries()) {
      found.add(ingress(`i-${index}`, host, short), "the test");
    }
    const { ingresses } = check(found, checkOptions());
    const [first] = ingresses.filter(({ name }) => name === "i-0");
    const asked = [...found.ingresses.values()];
    const routing = new Routing({ className: "nginx", sslRedirect: true });
    const { hosts } = routing.decide({ ingresses: asked, classes: [] });
    await world().hosts(Object.fromEntries(hosts));
    const answer = await answerOf(host, one.asked);
    const documented = one.documented.replace("HOST", host);
    expect([first?.verdict, answer === documented]).toEqual([one.verdict, one.verdict === "same"]);
  });

  /** The last of several answers with an error, if there is one. */
  async function answerOf(host: string, { target, times = 1, ...asked }: Case["asked"]) {
    const answers: string[] = [];
    for (let count = 0; count < times; count += 1) {
      const answer = await world().ask(host, target, asked);
      const { status, headers } = answer;
      const location = headers.location === undefined ? "" : ` ${headers.location}`;
      const service = /default\/(\w+):80/.exec(serviceOf(answer))?.[1];
      const line = lineOf(answer).replace(/ HTTP.*/, "");
      const seen = shownHeaders.flatMap((name) => {
        const value = headerOf(answer, name);
        return value === undefined ? [] : [` ${name}=${value}`];
      });
      const inner = headerOf(answer, "host");
      const named = inner === undefined || inner === host ? "" : ` host=${inner}`;
      answers.push(
        service === undefined
          ? `${status}${location}`
          : `${status} ${service} ${line}${named}${seen.join("")}`,
      );
    }
    return answers.findLast((one) => !one.startsWith("200")) ?? answers[0];
  }

  describe("compare with the stock ingress", () => {
    const folder = mkdtempSync(join(tmpdir(), "lockstep-e2e-migrate-"));
    const environment = nodeEnvironment();
    const { signal } = new AbortController();
    // Its workers take an endpoint change from a timer, as those of ingress-nginx do.
    let onRouted: () => void = () => undefined;
    const routed = new Promise<void>((resolve) => {
      onRouted = resolve;
    });
    const plane = new LivePlane({
      ...environment,
      prefix: join(folder, "stock"),
      host: "127.0.0.1",
      port: 0,
      onRouted: () => onRouted(),
    });
    const host = "page.example";
    let closePod: () => Promise<void> = async () => undefined;

    beforeAll(async () => {
      let served = 0;
      // The same application behind both, with a cookie and a page that are new each time.
      const pod = await environment.network.listen(
        { host: "127.0.77.201", port: 0 },
        (exchange) => {
          served += 1;
          const { target, method } = exchange.request;
          const body = target === "/clock" ? `${served}` : `page ${target}`;
          const headers = { "content-type": "text/plain", "set-cookie": `n=${served}` };
          exchange.respond(200, headers).end(method === "HEAD" ? undefined : Buffer.from(body));
        },
      );
      closePod = () => pod.close();
      const endpoint = { address: "127.0.77.201", port: pod.port };
      await plane.start();
      const backend = "default-page-80";
      const locations = [{ match: "prefix" as const, path: "/", backend }];
      await plane.reload([{ hostname: host, locations }], signal);
      await plane.push([{ name: backend, endpoints: [endpoint] }], signal);
      await routed;
      await world().service("default/page:80", [`${endpoint.address}:${endpoint.port}`]);
    });

    afterAll(async () => {
      await plane.stop();
      await closePod();
      rmSync(folder, { recursive: true, force: true });
    });

    /** The Ingresses as Lockstep serves them; the stock proxy knows the host and nothing else. */
    async function compared(...all: readonly Short[]) {
      const items = all.map((short, index) =>
        ingress(`page-${index}`, host, { ...short, service: "page" }),
      );
      const found = new FoundObjects();
      for (const one of items) found.add(one, "the test");
      const routing = new Routing({ className: "nginx" });
      const { hosts } = routing.decide({ ingresses: [...found.ingresses.values()], classes: [] });
      await world().hosts(Object.fromEntries(hosts));
      const file = join(folder, "ingresses.json");
      const list = items.map((one) => ({ apiVersion: "networking.k8s.io/v1", ...one }));
      writeFileSync(file, JSON.stringify({ kind: "List", items: list }));
      const terminal = new RecordedTerminal();
      const urls = [
        "--old",
        `http://${plane.address}`,
        "--new",
        `http://127.0.0.1:${world().proxy.port}`,
      ];
      const args = ["migrate", "compare", ...urls, file, "--rate", "50", "--json"];
      const code = await runProgram({ environment, terminal, stop: signal }, "1", args);
      return { code, ...JSON.parse(terminal.out) };
    }

    it("finds no difference where there is none, and names what changes by itself", async () => {
      const { summary, leftOut, requests, code } = await compared(
        {},
        { path: "/cart" },
        { path: "/clock" },
      );
      const differing = requests.filter(
        ({ verdict }: { verdict: string }) => verdict === "differs",
      );
      expect([differing, code]).toEqual([[], 0]);
      expect(summary).toEqual({ requests: 6, same: 5, differ: 0, changeByThemselves: 1 });
      expect(leftOut).toMatchObject({ "cookie values": 6, "body that changes by itself": 1 });
    });

    it("finds a redirect that only one of them makes", async () => {
      const redirect = { "permanent-redirect": "https://new.example" };
      const { code, summary, requests } = await compared(
        {},
        { annotations: redirect, path: "/cart" },
      );
      expect([code, summary.differ]).toEqual([1, 2]);
      const [first] = requests.filter(({ verdict }: { verdict: string }) => verdict === "differs");
      expect(first).toMatchObject({
        method: "GET",
        host,
        target: "/cart",
        oldStatus: 200,
        newStatus: 301,
      });
      expect(first.differences.map(({ what }: { what: string }) => what)).toContain("location");
    });
  });
});
