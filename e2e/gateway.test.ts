// Gateways and HTTPRoutes through the lab, `lockstep ingress` and nginx as users run them: what
// requests find, and what the status of each object says.
import { connect } from "node:http2";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseJson } from "../src/kube/client/client.ts";
import { HttpKubeClient } from "../src/kube/client/http-client.ts";
import { isRecord, listAt, type RawRecord, recordAt } from "../src/kube/kinds/fields.ts";
import { definitionsPath, gatewayDefinitions } from "../src/lab/gateway-definitions.ts";
import { IngressProcess } from "./ingress-process.ts";
import { textOf, withoutNginx } from "./proxy-world.ts";
import { talk } from "./raw-clients.ts";
import { ingressClass, ShopsWorld } from "./shops-world.ts";

const api = "/apis/gateway.networking.k8s.io";
const inDefault = `${api}/v1/namespaces/default`;
const address = "127.0.0.1";

const echo = (
  namespace: string,
  name: string,
  annotations: object = {},
  replicas = 1,
  env: readonly object[] = [],
): readonly (readonly [string, object])[] => {
  const labels = { app: name };
  const container = {
    name: "echo",
    image: "registry.example/echo-basic:v0",
    env: [{ name: "SERVICE_NAME", value: name }, ...env],
  };
  const template = { metadata: { labels, annotations }, spec: { containers: [container] } };
  const ports = [{ port: 8080, targetPort: 3000 }];
  return [
    [
      `/apis/apps/v1/namespaces/${namespace}/deployments`,
      { metadata: { name }, spec: { replicas, selector: { matchLabels: labels }, template } },
    ],
    [
      `/api/v1/namespaces/${namespace}/services`,
      { metadata: { name }, spec: { selector: labels, ports } },
    ],
  ];
};

const to = (name: string, more: object = {}) => ({ name, port: 8080, ...more });

const path = (value: string, more: object = {}) => ({
  matches: [{ path: { type: "PathPrefix", value }, ...more }],
});

const rules = [
  { ...path("/match", { headers: [{ name: "v", value: "2" }] }), backendRefs: [to("two")] },
  {
    ...path("/match"),
    filters: [
      {
        type: "RequestHeaderModifier",
        requestHeaderModifier: {
          set: [{ name: "X-Set", value: "new" }],
          add: [{ name: "X-Add", value: "more" }],
          remove: ["X-Gone"],
        },
      },
      {
        type: "ResponseHeaderModifier",
        responseHeaderModifier: {
          set: [{ name: "X-Answer", value: "yes" }],
          remove: ["Content-Type"],
        },
      },
      {
        type: "URLRewrite",
        urlRewrite: {
          hostname: "inner.example",
          path: { type: "ReplacePrefixMatch", replacePrefixMatch: "/new" },
        },
      },
    ],
    backendRefs: [to("one")],
  },
  { ...path("/ws"), backendRefs: [to("one")] },
  { ...path("/shared"), backendRefs: [to("one"), to("two"), to("missing", { weight: 2 })] },
  {
    ...path("/moved"),
    filters: [
      {
        type: "RequestRedirect",
        requestRedirect: {
          scheme: "https",
          path: { type: "ReplacePrefixMatch", replacePrefixMatch: "/there" },
          statusCode: 301,
        },
      },
    ],
  },
  {
    ...path("/session"),
    sessionPersistence: { sessionName: "shop" },
    backendRefs: [to("one"), to("two", { weight: 3 })],
  },
  {
    ...path("/extended"),
    filters: [
      { type: "ExtensionRef", extensionRef: { group: "x.example", kind: "Filter", name: "one" } },
    ],
    backendRefs: [to("one")],
  },
  { ...path("/slow"), timeouts: { request: "300ms" }, backendRefs: [to("slow")] },
  { ...path("/foreign"), backendRefs: [to("far", { namespace: "apart" })] },
];

describe.skipIf(withoutNginx !== false)("a Gateway", () => {
  let world: ShopsWorld;
  let ingress: IngressProcess;
  let client: HttpKubeClient;
  let port: number;
  /** Opened at the start for listeners of Gateways. */
  let declared: number;
  let grpcPort: number;

  const create = (where: string, body: object) =>
    client.request({ verb: "create", method: "POST", path: where, body });

  /** Of a kind of the Gateway API, in the namespace `default` unless given. */
  const createOurs = (kind: string, plural: string, body: object, where = "default") => {
    const version = kind === "ReferenceGrant" ? "v1beta1" : "v1";
    const scope = kind === "GatewayClass" ? "" : `/namespaces/${where}`;
    const apiVersion = `gateway.networking.k8s.io/${version}`;
    return create(`${api}/${version}${scope}/${plural}`, { apiVersion, kind, ...body });
  };

  const ask = async (
    host: string,
    target: string,
    headers: Record<string, string> = {},
    at = ingress.address,
  ) => {
    const url = `http://${at}${target}`;
    const request = { method: "GET", url, headers: { host, ...headers } };
    const answer = await world.environment.network.request(request);
    return { status: answer.status, headers: answer.headers, text: await textOf(answer.body) };
  };

  const statusOf = async (where: string): Promise<RawRecord> => {
    const request = { verb: "get", method: "GET", path: where } as const;
    const object = parseJson(await client.request(request));
    return isRecord(object) ? recordAt(object, "status") : {};
  };

  const conditionsOf = (status: RawRecord): Readonly<Record<string, string>> =>
    Object.fromEntries(
      listAt(status, "conditions")
        .filter(isRecord)
        .map((one) => [one["type"], `${String(one["status"])} ${String(one["reason"])}`]),
    );

  const ofParent = async (route: string) => {
    const [parent] = listAt(await statusOf(`${inDefault}/httproutes/${route}`), "parents");
    return isRecord(parent) ? conditionsOf(parent) : {};
  };

  beforeAll(async () => {
    world = await ShopsWorld.start({ shops: 1, replicas: 1 });
    const { environment, access: cluster } = world;
    client = new HttpKubeClient({ ...environment, cluster, userAgent: "e2e" });
    for (const one of gatewayDefinitions()) await create(definitionsPath, one);
    await world.until("the kinds are there", async () => {
      try {
        await client.request({ verb: "list", method: "GET", path: `${inDefault}/httproutes` });
        return true;
      } catch {
        return false;
      }
    });
    await create("/api/v1/namespaces", { metadata: { name: "apart" } });
    for (const [where, body] of [
      ...echo("default", "one"),
      ...echo("default", "two"),
      ...echo("apart", "far"),
      // Two, so that there is one to try after the first.
      ...echo("default", "slow", { "lab.lockstep.dev/response-time": "30s" }, 2),
      ...echo("default", "calls", {}, 1, [{ name: "GRPC_ECHO_SERVER", value: "1" }]),
    ]) {
      await create(where, body);
    }
    declared = await world.freePort();
    grpcPort = await world.freePort();
    ingress = await IngressProcess.start(world, "replica", [
      "--publish-address",
      address,
      "--gateway-port",
      String(declared),
      "--grpc-port",
      String(grpcPort),
    ]);
    port = Number(ingress.address.split(":")[1]);
    await createOurs("GatewayClass", "gatewayclasses", {
      metadata: { name: "lockstep" },
      spec: { controllerName: "lockstep.dev/gateway" },
    });
    await createOurs("Gateway", "gateways", {
      metadata: { name: "edge" },
      spec: {
        gatewayClassName: "lockstep",
        listeners: [
          { name: "http", port, protocol: "HTTP" },
          { name: "closed", port: 1, protocol: "HTTP" },
          {
            name: "grpc",
            port: grpcPort,
            protocol: "HTTP",
            allowedRoutes: { kinds: [{ kind: "GRPCRoute" }] },
          },
        ],
      },
    });
    await createOurs("HTTPRoute", "httproutes", {
      metadata: { name: "all" },
      spec: { parentRefs: [{ name: "edge" }], hostnames: ["*.web.example"], rules },
    });
    await world.until("both services serve", async () => {
      const answers = [
        await ask("a.web.example", "/match"),
        await ask("a.web.example", "/match", { v: "2" }),
      ];
      return answers.every(({ status }) => status === 200);
    });
  });

  afterAll(async () => {
    await world.stop();
  });

  it("routes by headers, at any depth under a wildcard, and by the more specific rule", async () => {
    const two = await ask("a.b.web.example", "/match/x?q=1", { v: "2" });
    expect([two.status, echoed(two.text)["service"]]).toEqual([200, "two"]);
    expect((await ask("web.example", "/match")).status).toBe(404);
    expect((await ask("a.web.example", "/other")).status).toBe(404);
  });

  it("changes the headers and the path as the rule says", async () => {
    const sent = { "x-set": "old", "x-add": "some", "x-gone": "here" };
    const { headers, text } = await ask("a.web.example", "/match/x", sent);
    const seen = echoed(text);
    expect([seen["service"], seen["path"], seen["host"]]).toEqual([
      "one",
      "/new/x",
      "inner.example",
    ]);
    const { "X-Set": set, "X-Add": added, "X-Gone": gone } = recordAt(seen, "headers");
    expect([set, added, gone]).toEqual([["new"], ["some,more"], undefined]);
    expect([headers["x-answer"], headers["content-type"]]).toEqual(["yes", undefined]);
  });

  it("redirects to the changed parts of an address", async () => {
    const { status, headers } = await ask("a.web.example", "/moved/x?q=1");
    expect([status, headers["location"]]).toEqual([301, "https://a.web.example/there/x?q=1"]);
  });

  it("gives each backend its share, and answers the share of a missing one with 500", async () => {
    const counts = new Map<unknown, number>();
    for (let count = 0; count < 80; count += 1) {
      const { status, text } = await ask("a.web.example", "/shared");
      const who = status === 200 ? echoed(text)["service"] : status;
      counts.set(who, (counts.get(who) ?? 0) + 1);
    }
    expect(new Set(counts.keys())).toEqual(new Set([500, "one", "two"]));
    // Two workers, each of which keeps the shares: within a few of 20, 20 and 40.
    const near = (who: unknown, share: number) => Math.abs((counts.get(who) ?? 0) - share) <= 6;
    expect([near("one", 20), near("two", 20), near(500, 40)]).toEqual([true, true, true]);
  });

  it("keeps a session at its endpoint, whichever service that is of", async () => {
    const seen = new Set<unknown>();
    // Two workers keep the shares, so that it takes a while until a session has begun at each service.
    while (seen.size < 2) {
      const first = await ask("a.web.example", "/session");
      const [cookie = ""] = String(first.headers["set-cookie"]).split(";");
      expect(cookie).toMatch(/^shop=e[0-9a-f]{16}$/);
      const { service } = echoed(first.text);
      seen.add(service);
      for (let again = 0; again < 4; again += 1) {
        const next = await ask("a.web.example", "/session", { cookie });
        expect([echoed(next.text)["service"], next.headers["set-cookie"]]).toEqual([
          service,
          undefined,
        ]);
      }
    }
  });

  it("passes frames of a WebSocket on, both ways", async () => {
    const [listening = ""] = ingress.address.split(":");
    const head =
      "GET /ws HTTP/1.1\r\nHost: a.web.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    // With a mask of zeros, as only a server's frames have none.
    const frame = Buffer.concat([Buffer.from([0x81, 0x85, 0, 0, 0, 0]), Buffer.from("Hello")]);
    const got = await talk({ host: listening, port }, [head, frame]);
    expect(got).toContain("101 Switching Protocols");
    expect(got).toContain("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    expect(got.endsWith("\x81\x05Hello")).toBe(true);
  });

  it("waits for an answer as long as the rule says", async () => {
    // The second endpoint could be tried, if there were time left.
    await world.until("both slow ones can be asked", async () => {
      const active = await ingress.activeAddresses("default/slow:8080");
      return active.size === 2 && (await ask("a.web.example", "/slow")).status !== 503;
    });
    expect((await ask("a.web.example", "/slow")).status).toBe(504);
  });

  it("answers with 500 where a filter cannot be honoured, and says so", async () => {
    expect((await ask("a.web.example", "/extended")).status).toBe(500);
    await world.until("the status says so", async () => {
      return (await ofParent("all"))["PartiallyInvalid"] !== undefined;
    });
    expect(await ofParent("all")).toEqual({
      Accepted: "True Accepted",
      PartiallyInvalid: "True UnsupportedValue",
      ResolvedRefs: "False BackendNotFound",
    });
  });

  it("leads to a service of another namespace only where a grant allows it", async () => {
    expect((await ask("a.web.example", "/foreign")).status).toBe(500);
    const from = [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", namespace: "default" }];
    const grant = {
      metadata: { name: "from-default" },
      spec: { from, to: [{ group: "", kind: "Service", name: "far" }] },
    };
    await createOurs("ReferenceGrant", "referencegrants", grant, "apart");
    await world.until("the grant counts", async () => {
      return (await ask("a.web.example", "/foreign")).status === 200;
    });
  });

  it("shows which listener it serves, where, and how many routes it has", async () => {
    const listenersOf = async () =>
      listAt(await statusOf(`${inDefault}/gateways/edge`), "listeners").filter(isRecord);
    // It was written before there was a route, too.
    await world.until("the status counts the route", async () => {
      return (await listenersOf()).some((one) => one["attachedRoutes"] === 1);
    });
    const status = await statusOf(`${inDefault}/gateways/edge`);
    expect(conditionsOf(status)).toEqual({
      Accepted: "True ListenersNotValid",
      Programmed: "True Programmed",
    });
    expect(listAt(status, "addresses")).toEqual([{ type: "IPAddress", value: address }]);
    const listeners = await listenersOf();
    expect(listeners.map((one) => [one["name"], one["attachedRoutes"]])).toEqual([
      ["http", 1],
      ["closed", 0],
      ["grpc", 0],
    ]);
    expect(listeners.map((one) => conditionsOf(one)["Accepted"])).toEqual([
      "True Accepted",
      "False PortUnavailable",
      "True Accepted",
    ]);
    const ofClass = await statusOf(`${api}/v1/gatewayclasses/lockstep`);
    expect(conditionsOf(ofClass)).toEqual({ Accepted: "True Accepted" });
    expect(listAt(ofClass, "supportedFeatures")).toContainEqual({ name: "HTTPRoute" });
  });

  it("serves a new listener at a port that was opened at the start, and nothing else there", async () => {
    const at = `${address}:${declared}`;
    const statusAt = async (host: string, target: string) =>
      (await ask(host, target, {}, at)).status;
    const [shop = ""] = world.hosts;
    // Of a listener at the other port, and of an Ingress.
    expect(await statusAt("a.web.example", "/match")).toBe(404);
    expect((await ask(shop, "/")).status).toBe(200);
    expect(await statusAt(shop, "/")).toBe(404);
    await createOurs("Gateway", "gateways", {
      metadata: { name: "more" },
      spec: {
        gatewayClassName: "lockstep",
        listeners: [{ name: "admin", port: declared, protocol: "HTTP" }],
      },
    });
    await createOurs("HTTPRoute", "httproutes", {
      metadata: { name: "admin" },
      spec: {
        parentRefs: [{ name: "more", port: declared }],
        hostnames: ["admin.example"],
        rules: [{ backendRefs: [to("two")] }],
      },
    });
    await world.until("the new listener serves", async () => {
      return (await statusAt("admin.example", "/")) === 200;
    });
    expect((await ask("admin.example", "/")).status).toBe(404);
    expect(await statusAt(shop, "/")).toBe(404);
  });

  it("routes gRPC by service, method and headers, with the trailers of the endpoint", async () => {
    const modified = {
      type: "RequestHeaderModifier",
      requestHeaderModifier: { set: [{ name: "X-Set", value: "new" }] },
    };
    const service = "gateway_api_conformance.echo_basic.grpcecho.GrpcEcho";
    const method = (name: string) => ({ method: { service, method: name } });
    await createOurs("GRPCRoute", "grpcroutes", {
      metadata: { name: "calls" },
      spec: {
        parentRefs: [{ name: "edge" }],
        hostnames: ["calls.example"],
        rules: [
          { matches: [method("Echo")], filters: [modified], backendRefs: [to("calls")] },
          {
            matches: [{ ...method("EchoTwo"), headers: [{ name: "v", value: "2" }] }],
            backendRefs: [to("calls")],
          },
          { matches: [method("EchoThree")], backendRefs: [to("missing")] },
        ],
      },
    });
    const call = (name: string, headers = {}) =>
      called(`http://${address}:${grpcPort}`, `/${service}/${name}`, "calls.example", headers);
    await world.until("calls are served", async () => (await call("Echo")).status === 200);
    const { text, trailers } = await call("Echo", { "x-set": "old" });
    expect(trailers["grpc-status"]).toBe("0");
    expect(text).toMatch(new RegExp(`/${service}/Echo.*x-set.*new.*calls`, "s"));
    expect([
      (await call("EchoTwo", { v: "2" })).status,
      (await call("EchoTwo")).status,
      (await call("EchoThree")).status,
    ]).toEqual([200, 404, 503]);
    const explained = async (name: string): Promise<Readonly<Record<string, unknown>>> => {
      const asked = { host: "calls.example", path: `/${service}/${name}`, call: "true" };
      return JSON.parse(await ingress.ask(`/explain?${new URLSearchParams(asked)}`));
    };
    const echo = await explained("Echo");
    expect([echo["origin"], echo["status"]]).toEqual(["GRPCRoute default/calls", undefined]);
    expect(echo["verdict"]).toBe("served by 1 endpoint of default/calls:8080");
    const three = await explained("EchoThree");
    expect([three["origin"], three["status"]]).toEqual(["GRPCRoute default/calls", 503]);
    // Neither at the port of HTTPRoutes.
    expect((await ask("calls.example", `/${service}/Echo`)).status).toBe(404);
    const parent = async () => {
      const status = await statusOf(`${inDefault}/grpcroutes/calls`);
      const [first] = listAt(status, "parents");
      return isRecord(first) ? conditionsOf(first) : {};
    };
    await world.until(
      "its status is written",
      async () => (await parent())["Accepted"] !== undefined,
    );
    expect(await parent()).toEqual({
      Accepted: "True Accepted",
      ResolvedRefs: "False BackendNotFound",
    });
  });

  it("leaves a host to the Ingress that had it before, and serves it once that is gone", async () => {
    const host = "both.example";
    const ofIngress = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";
    const backend = { service: { name: "one", port: { number: 8080 } } };
    await create(ofIngress, {
      metadata: { name: "older" },
      spec: {
        ingressClassName: ingressClass,
        rules: [{ host, http: { paths: [{ path: "/", pathType: "Prefix", backend }] } }],
      },
    });
    const serviceOf = async () => echoed((await ask(host, "/")).text)["service"];
    await world.until("the Ingress is served", async () => (await ask(host, "/")).status === 200);
    // Times of objects are whole seconds: the younger one must be of a later one.
    const second = () => Math.floor(world.environment.clock.wallMs() / 1000);
    const before = second();
    await world.until("it is another second", () => second() > before);
    await createOurs("HTTPRoute", "httproutes", {
      metadata: { name: "younger" },
      spec: {
        parentRefs: [{ name: "edge" }],
        hostnames: [host],
        rules: [{ backendRefs: [to("two")] }],
      },
    });
    await world.until("the status of the route reports it", async () => {
      return (await ofParent("younger"))["Accepted"] === "False HostTaken";
    });
    expect(await serviceOf()).toBe("one");
    await client.request({ verb: "delete", method: "DELETE", path: `${ofIngress}/older` });
    await world.until("the route has the host", async () => (await serviceOf()) === "two");
    await world.until("the status of the route reports it", async () => {
      return (await ofParent("younger"))["Accepted"] === "True Accepted";
    });
  });
});

/** A call without a message, over HTTP/2 without TLS. */
function called(url: string, path: string, host: string, headers: Record<string, string>) {
  return new Promise<{
    readonly status: unknown;
    readonly text: string;
    readonly trailers: Readonly<Record<string, unknown>>;
  }>((resolve, reject) => {
    const session = connect(url);
    session.on("error", reject);
    const stream = session.request({
      ":method": "POST",
      ":path": path,
      ":authority": host,
      "content-type": "application/grpc",
      te: "trailers",
      ...headers,
    });
    let status: unknown;
    let trailers: Readonly<Record<string, unknown>> = {};
    const chunks: Buffer[] = [];
    stream.on("response", (answer) => {
      status = answer[":status"];
    });
    stream.on("trailers", (found) => {
      trailers = found;
    });
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("error", reject);
    stream.on("close", () => {
      session.close();
      resolve({ status, text: Buffer.concat(chunks).toString("latin1"), trailers });
    });
    stream.end(Buffer.alloc(5));
  });
}

function echoed(text: string): RawRecord {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}
