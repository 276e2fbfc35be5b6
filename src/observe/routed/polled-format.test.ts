// The answers are captured from real proxies, whose versions are in the names of the files. The one of
// Traefik is written after serviceRepresentation in its pkg/api/handler_http.go.
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, it } from "vitest";
import { servicesOfEnvoyCluster } from "./envoy-clusters.ts";
import { haproxyPath, servicesOfHaproxyBackend } from "./haproxy-servers.ts";
import { type Backends, type PolledKind, polledFormats } from "./polled-format.ts";

const captured = new URL("../../../tests/observer/captured/", import.meta.url);

function read(kind: PolledKind, file: string): Backends {
  const backends = polledFormats[kind].read(readFileSync(new URL(file, captured), "utf8"));
  if (backends === undefined) throw new Error(`${file} is not of ${kind}`);
  return backends;
}

function places(backends: Backends): Record<string, string[]> {
  const texts = [...backends].map(([name, { endpoints }]): [string, string[]] => [
    name,
    endpoints.map(({ address, port }) => `${address} ${port}`),
  ]);
  return Object.fromEntries(texts);
}

it("reads the clusters of a real Envoy, and the regions of a cluster as its parts", () => {
  const backends = read("envoy", "envoy-1.40.json");
  expect(places(backends)).toEqual({
    // The draining endpoint gets no new request.
    "shop/web/80/da39a3ee5e": ["127.9.1.1 8080", "::1 8080"],
    "httproute/shop/web/rule/0": [],
    "httproute/shop/web/rule/0/backend/0": ["127.9.1.5 8080"],
    "httproute/shop/web/rule/0/backend/1": ["127.9.1.6 8080"],
  });
  expect(backends.get("shop/web/80/da39a3ee5e")).toMatchObject({ alias: "shop/web/http" });
  const part = backends.get("httproute/shop/web/rule/0/backend/1");
  expect(part).toMatchObject({ partOf: "httproute/shop/web/rule/0" });
});

it("reads the servers of a real HAProxy that get requests, also of a backend without any", () => {
  const backends = read("haproxy", "haproxy-2.6.csv");
  // In maintenance, failed its check, and without weight: the others.
  expect(places(backends)).toEqual({
    shop_svc_web_http: ["127.9.0.1 8080"],
    _weird: ["127.0.0.1 9"],
  });
  const csv = readFileSync(new URL("haproxy-2.6.csv", captured), "utf8");
  const down = csv.replace(/^shop_svc_web_http,SRV_1,.*$/m, "");
  expect(places(polledFormats.haproxy.read(down) ?? new Map())).toMatchObject({
    shop_svc_web_http: [],
  });
});

it("does not take statistics without addresses for servers without addresses", () => {
  const csv = readFileSync(new URL("haproxy-2.6.csv", captured), "utf8");
  const without = csv.replaceAll(/(127\.[\d.]+|\[::1\]):\d+/g, "");
  expect(polledFormats.haproxy.read(without)).toBeUndefined();
});

it("reads cells of HAProxy that have commas, quotes and line ends", () => {
  const csv =
    '# pxname,svname,last_chk,status,weight,type,addr,\n"a_b_c",s,"x, ""y""\nz",UP 1/2,1,2,1.2.3.4:80,\n';
  expect(places(polledFormats.haproxy.read(csv) ?? new Map())).toEqual({ a_b_c: ["1.2.3.4 80"] });
});

it("reads the servers of Traefik that get requests", () => {
  const body = JSON.stringify([
    {
      loadBalancer: {
        servers: [
          { url: "http://10.0.0.1:8080" },
          { url: "https://[fd00::1]" },
          { url: "http://10.0.0.2:8080", fenced: true },
          { url: "http://10.0.0.3:8080" },
          { url: "http://web.example:80" },
          { url: "h2c://10.0.0.4:8080", weight: 0 },
        ],
        strategy: "wrr",
        passHostHeader: true,
      },
      status: "enabled",
      usedBy: ["shop-web@kubernetes"],
      serverStatus: { "http://10.0.0.1:8080": "UP", "http://10.0.0.3:8080": "DOWN" },
      name: "shop-web-80@kubernetes",
      provider: "kubernetes",
      type: "loadbalancer",
    },
    { weighted: { services: [] }, name: "shop-split@kubernetescrd", type: "weighted" },
    { status: "enabled", name: "api@internal" },
  ]);
  const backends = polledFormats.traefik.read(body) ?? new Map();
  expect(places(backends)).toEqual({ "shop-web-80@kubernetes": ["10.0.0.1 8080", "fd00::1 443"] });
});

it.each([
  ["shop/web/http", ["shop/web"]],
  ["shop/web", ["shop/web"]],
  ["shop/web/80/da39a3ee5e", ["shop/web"]],
  ["outbound|80||web.shop.svc.cluster.local", ["shop/web"]],
  ["outbound|80|v1|web.shop.svc.east.example", ["shop/web"]],
  ["inbound|8080||", []],
  ["httproute/shop/web/rule/0", []],
  ["xds_cluster", []],
])("knows the service of Envoy's cluster %s", (name, services) => {
  expect(servicesOfEnvoyCluster(name)).toEqual(services);
});

it.each([
  ["shop_svc_web_http", ["shop/web"]],
  ["shop_front_svc_web_8080", ["shop/web"]],
  ["shop_web_8080", ["shop/web"]],
  ["shop_svc_8080", ["shop/svc"]],
  ["shop-web-80", ["shop/web"]],
  ["_error404", []],
  ["_front_https__local", []],
])("knows the service of HAProxy's backend %s", (name, services) => {
  expect(servicesOfHaproxyBackend(name)).toEqual(services);
});

it("asks the statistics of HAProxy at their own path", () => {
  expect(haproxyPath("http://a:1024")).toBe("http://a:1024/;csv");
  expect(haproxyPath("http://a:8404/stats")).toBe("http://a:8404/stats;csv");
  expect(haproxyPath("")).toBe("/;csv");
});

const bodies: Readonly<Record<PolledKind, string>> = {
  envoy: readFileSync(new URL("envoy-1.40.json", captured), "utf8"),
  haproxy: readFileSync(new URL("haproxy-2.6.csv", captured), "utf8"),
  traefik: '[{"name":"a-b-80@kubernetes","loadBalancer":{"servers":[{"url":"http://1.2.3.4:5"}]}}]',
  "ingress-nginx": '[{"name":"a-b-80","endpoints":[{"address":"1.2.3.4","port":"5"}]}]',
};

/** An answer with a part replaced. */
const broken = fc
  .record({
    kind: fc.constantFrom(...(Object.keys(bodies) as PolledKind[])),
    from: fc.nat(6_000),
    length: fc.nat(40),
    put: fc.oneof(
      fc.string(),
      fc.json(),
      fc.constantFrom('"', ",", "\n", "[", "{}", "null", "1e999"),
    ),
  })
  .map(({ kind, from, length, put }) => {
    const body = bodies[kind];
    const at = from % body.length;
    return { kind, body: `${body.slice(0, at)}${put}${body.slice(at + length)}` };
  });

/** The values of the JSON, each of which may become another. */
const odd = fc
  .tuple(fc.constantFrom("envoy", "traefik", "ingress-nginx"), fc.nat(60), fc.jsonValue())
  .map(([kind, at, put]) => {
    let index = 0;
    const body = JSON.stringify(JSON.parse(bodies[kind as PolledKind]), (_, value) => {
      index += 1;
      return index === at ? put : (value as unknown);
    });
    return { kind, body: body ?? "" };
  });

it("gives addresses and ports of any answer, or says that it is not of its kind", () => {
  fc.assert(
    fc.property(fc.oneof(broken, odd), ({ kind, body }) => {
      for (const { endpoints } of polledFormats[kind].read(body)?.values() ?? []) {
        for (const { address, port } of endpoints) {
          expect(address).toMatch(/^[0-9a-f.:]+$/i);
          expect(port).toBeGreaterThan(0);
          expect(port).toBeLessThanOrEqual(65_535);
        }
      }
    }),
    { numRuns: 500 },
  );
});
