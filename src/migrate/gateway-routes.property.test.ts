// Ingresses and the objects of the Gateway API that are printed for them answer every request alike.
import fc from "fast-check";
import { expect, it } from "vitest";
import { gatewayClass } from "../../tests/gateway/gateway-objects.ts";
import type { PathRule } from "../decide/decision.ts";
import type { Cors } from "../decide/route-policy.ts";
import { type GatewayFacts, GatewayFrontEnd } from "../decide/routing/gateway/gateway-front-end.ts";
import { type RouteTable, Routing } from "../decide/routing/routing.ts";
import { isRecord } from "../kube/kinds/fields.ts";
import { gatewayKind } from "../kube/kinds/gateway.ts";
import { httpRouteKind } from "../kube/kinds/http-route.ts";
import { type Ingress, ingressKind } from "../kube/kinds/ingress.ts";
import { type AskedRequest, compileHost, findRule } from "../outputs/nginx/route-match.ts";
import { gatewayObjects } from "./gateway-routes.ts";

/** Run by hand with more: LOCKSTEP_RUNS=20000 LOCKSTEP_SEED=7. */
const runs = Number(process.env["LOCKSTEP_RUNS"] ?? 100);

const className = "nginx";
const hosts = ["a.example", "b.example"];
const paths = ["/", "/p", "/p/q", "/a b%"];
const ports = { http: 80, https: 443 };

const annotations = fc
  .record(
    {
      "rewrite-target": fc.constantFrom("/new", "/"),
      "upstream-vhost": fc.constant("inner.example"),
      "app-root": fc.constant("/start"),
      "ssl-redirect": fc.constant("false"),
      "force-ssl-redirect": fc.constant("true"),
      "permanent-redirect": fc.constant("https://new.example/there"),
      "whitelist-source-range": fc.constant("10.0.0.0/8"),
      // The one time limit of a rule is both.
      "proxy-read-timeout": fc.constant("7"),
      "proxy-next-upstream-tries": fc.constantFrom("2", "5"),
      affinity: fc.constant("cookie"),
      "session-cookie-max-age": fc.constantFrom("0", "90", "34560000"),
      "enable-cors": fc.constant("true"),
      "cors-allow-origin": fc.constantFrom("*", "https://a.example, https://*.b.example:8443"),
      "cors-allow-credentials": fc.constantFrom("true", "false"),
      "cors-expose-headers": fc.constant("X-A"),
    },
    { requiredKeys: [] },
  )
  .map((some) => ({ ...some, "proxy-send-timeout": some["proxy-read-timeout"] }))
  .map((some) =>
    Object.fromEntries(
      Object.entries(some)
        .filter(([, value]) => value !== undefined)
        .map(([key, value]) => [`nginx.ingress.kubernetes.io/${key}`, value]),
    ),
  );

const rule = fc.record({
  host: fc.constantFrom(...hosts),
  paths: fc.array(
    fc.record({
      path: fc.constantFrom(...paths),
      pathType: fc.constantFrom("Exact", "Prefix"),
      service: fc.constantFrom("one", "two"),
    }),
    { minLength: 1, maxLength: 3 },
  ),
});

const written = fc.array(
  fc.record({
    annotations,
    createdAt: fc.integer({ min: 1, max: 3 }),
    rules: fc.array(rule, { minLength: 1, maxLength: 2 }),
    tls: fc.subarray(hosts),
  }),
  { minLength: 1, maxLength: 3 },
);

const request = fc.record({
  host: fc.constantFrom(...hosts),
  path: fc.constantFrom(...paths, "/p/", "/pq", "/other"),
  port: fc.constantFrom(ports.http, ports.https),
});

function ingressOf(
  {
    annotations: own,
    createdAt,
    rules,
    tls,
  }: (typeof written extends fc.Arbitrary<infer T> ? T : never)[number],
  at: number,
): Ingress {
  return ingressKind.project({
    metadata: {
      namespace: "shop",
      name: `i${at}`,
      uid: `i${at}`,
      resourceVersion: "1",
      creationTimestamp: new Date(createdAt * 1000).toISOString(),
      annotations: own,
    },
    spec: {
      ingressClassName: className,
      tls: tls.map((host) => ({ hosts: [host], secretName: `cert-${host}` })),
      rules: rules.map(({ host, paths: some }) => ({
        host,
        http: {
          paths: some.map(({ service, ...path }) => ({
            ...path,
            backend: { service: { name: service, port: { number: 80 } } },
          })),
        },
      })),
    },
  });
}

const facts: GatewayFacts = {
  ports: { http: new Map([[80, ports.http]]), https: new Map([[443, ports.https]]) },
  labelsOf: () => ({}),
  certificate: () => ({}),
  hasService: () => true,
};

it("answers as the Ingresses do, but for rules that are refused", () => {
  fc.assert(
    fc.property(written, fc.array(request, { minLength: 4, maxLength: 10 }), (some, requests) => {
      const ingresses = some.map(ingressOf);
      const before = new Routing({ className }).decide({ ingresses, classes: [] });
      const options = { className, gatewayClass: "lockstep", gatewayName: "edge", routing: {} };
      const { objects, findings } = gatewayObjects(ingresses, { ...options, services: new Map() });
      const ofKind = (kind: string) =>
        objects.filter((one) => isRecord(one) && one["kind"] === kind).map(asCreated);
      const { asked: others } = new GatewayFrontEnd().decide(
        {
          classes: [gatewayClass()],
          gateways: ofKind("Gateway").map((one) => gatewayKind("v1").project(one)),
          routes: ofKind("HTTPRoute").map((one) => httpRouteKind("v1").project(one)),
          grants: [],
        },
        facts,
      );
      const after = new Routing({ className }).decide({ ingresses: [], classes: [], others });
      const certificates = new Set(some.flatMap(({ tls }) => tls));
      for (const asked of requests) {
        // Without a certificate the Gateway has no listener for it.
        if (asked.port === ports.https && !certificates.has(asked.host)) continue;
        const expected = answerOf(before, asked);
        const isRefused = expected.includes("allowFrom");
        const isReported = findings.some(({ kind }) => kind === "refused");
        const wanted = [asked, isRefused ? "500" : expected, true];
        expect([asked, answerOf(after, asked), isReported || !isRefused]).toEqual(wanted);
      }
    }),
    { numRuns: runs },
  );
});

function asCreated(object: object, at: number): object {
  const metadata = isRecord(object) && isRecord(object["metadata"]) ? object["metadata"] : {};
  return { ...object, metadata: { ...metadata, uid: `${at}`, resourceVersion: "1" } };
}

/** In the words of both front ends. */
function answerOf(
  { hosts: table }: RouteTable,
  { host, path, port }: { readonly host: string; readonly path: string; readonly port: number },
): string {
  const asked: AskedRequest = { port, method: "GET", headers: {}, query: {} };
  const compiled = new Map([...table].map(([name, rules]) => [name, compileHost(rules)]));
  const found: PathRule | undefined = findRule(
    (name) => compiled.get(name),
    host,
    path,
    asked,
  )?.rule;
  if (found === undefined) return "404";
  const { refuse, partRedirect, httpsRedirect, redirect, appRoot, allowFrom, ...policy } =
    found.policy ?? {};
  if (refuse !== undefined) return `${refuse}`;
  if (allowFrom !== undefined && (httpsRedirect === undefined || port === ports.https)) {
    return "allowFrom";
  }
  if (partRedirect !== undefined) {
    const { status, scheme, host: to = host, path: target } = partRedirect;
    const isOther = to !== host || target !== undefined;
    return isOther ? `${status} ${to}${target?.full ?? ""}` : `${status} ${scheme}`;
  }
  if (httpsRedirect !== undefined && port === ports.http) return `${httpsRedirect} https`;
  if (redirect !== undefined) {
    const { hostname, pathname } = new URL(redirect.location);
    return `${redirect.status} ${hostname}${pathname}`;
  }
  if (appRoot !== undefined && path === "/") return `302 ${host}${appRoot}`;
  const { rewrite, pathRewrite, upstreamHost, timeouts } = policy;
  const target = rewrite ?? pathRewrite?.full ?? "";
  const { tries, balance, cors } = policy;
  const { cookie, maxAgeSeconds = 0 } = balance?.affinity ?? {};
  return [
    found.service,
    target,
    upstreamHost,
    timeouts?.readMs,
    tries,
    cookie,
    maxAgeSeconds,
    corsText(cors),
  ].join(" ");
}

/** In the words of both: with any origin, browsers take no credentials from ingress-nginx. */
function corsText(cors: Cors | undefined): string {
  if (cors === undefined) return "";
  const { dialect: _, allowCredentials, ...lists } = cors;
  const isForAll = cors.allowOrigins.includes("*");
  return JSON.stringify({ ...lists, allowCredentials: allowCredentials && !isForAll });
}
