// Ingresses with annotations, from the API server to what a client and an endpoint see: one replica
// with real nginx, whose services are external names that lead to programs of this machine.
import { describe, expect, it } from "vitest";
import { ApiServer } from "../src/apiserver/api-server.ts";
import { MemoryStorage } from "../src/apiserver/storage/memory-storage.ts";
import { IngressReplica } from "../src/ingress/ingress-replica.ts";
import { parseJson } from "../src/kube/client/client.ts";
import { HttpKubeClient } from "../src/kube/client/http-client.ts";
import { fixedAccess } from "../src/kube/credentials/credentials.ts";
import { ProxyWorld, textOf, withoutNginx } from "./proxy-world.ts";

/** The number of Events for the Ingresses below. */
const eventCount = 6;

/** Stands for the port of the service `next`. */
const portOfNext = "PORT";

type Annotations = Readonly<Record<string, string>>;

/** One Ingress: its host and path, what it asks for, and where it leads. */
interface Asked {
  readonly host: string;
  readonly path?: string;
  readonly annotations?: Annotations;
  readonly service?: "echo" | "next" | "lost";
  /** The number of its port; the service's own unless given. */
  readonly port?: number;
  readonly namespace?: string;
  readonly tls?: boolean;
  readonly secretName?: string;
}

const asked: Readonly<Record<string, Asked>> = {
  plain: { host: "plain.example", annotations: { "proxy-buffering": "on" } },
  late: { host: "plain.example", path: "/taken", namespace: "other" },
  rewritten: {
    host: "rewritten.example",
    path: "/api(/|$)(.*)",
    annotations: { "rewrite-target": "/$2", "upstream-vhost": "inside.example" },
  },
  closed: { host: "closed.example", annotations: { "auth-tls-secret": "default/clients" } },
  locked: {
    host: "locked.example",
    annotations: { "auth-type": "basic", "auth-secret": "users" },
  },
  judged: {
    host: "judged.example",
    annotations: { "auth-url": `http://next.default.svc:${portOfNext}/check` },
  },
  judgedHere: {
    host: "judged-here.example",
    annotations: { "auth-url": "https://both.example/check" },
  },
  unjudged: {
    host: "unjudged.example",
    annotations: { "auth-url": "http://lost.default.svc/check" },
  },
  moved: {
    host: "moved.example",
    annotations: { "permanent-redirect": "https://new.example$request_uri" },
  },
  rooted: { host: "rooted.example", annotations: { "app-root": "/app" } },
  secure: { host: "secure.example", tls: true },
  private: { host: "private.example", annotations: { "whitelist-source-range": "10.0.0.0/8" } },
  limited: {
    host: "limited.example",
    annotations: { "limit-rpm": "1", "limit-burst-multiplier": "1" },
  },
  small: { host: "small.example", annotations: { "proxy-body-size": "10" } },
  aliased: { host: "aliased.example", annotations: { "server-alias": "other-name.example" } },
  shop: { host: "shop.example", annotations: { "from-to-www-redirect": "true" } },
  denied: { host: "denied.example", annotations: { "denylist-source-range": "127.0.0.0/8" } },
  exempt: {
    host: "exempt.example",
    annotations: {
      "limit-rpm": "1",
      "limit-burst-multiplier": "1",
      "limit-whitelist": "127.0.0.1",
    },
  },
  lost: { host: "lost.example", service: "lost", port: 80, tls: true, secretName: "lost" },
  main: { host: "both.example" },
  canary: {
    host: "both.example",
    service: "next",
    annotations: { canary: "true", "canary-by-header": "X-Next" },
  },
};

describe.skipIf(withoutNginx !== false)("Ingresses with annotations", () => {
  it("work as documented, and invalid values are reported", () =>
    ProxyWorld.use((world) =>
      withIngresses(world, async (client) => {
        const seen = async (host: string, target?: string, headers?: Annotations) =>
          (await ask(world, host, target, headers)).said;
        expect(await seen("plain.example", "/a%2Fb?x=1")).toBe(
          "200 echo: plain.example /a%2Fb?x=1",
        );
        expect(await seen("plain.example", "/taken")).toBe("200 echo: plain.example /taken");
        expect(await seen("rewritten.example", "/api/users?x=1")).toBe(
          "200 echo: inside.example /users?x=1",
        );
        expect(await seen("rewritten.example", "/apis")).toBe("200 next: rewritten.example /apis");
        expect(await seen("closed.example")).toMatch(/^503 /);
        const authorization = `Basic ${Buffer.from("ann:secret").toString("base64")}`;
        expect(await seen("locked.example")).toMatch(/^401 /);
        expect(await seen("locked.example", "/", { authorization })).toBe(
          "200 echo: locked.example /",
        );
        expect(await seen("judged.example")).toBe("200 echo: judged.example /");
        expect(await seen("judged-here.example")).toBe("200 echo: judged-here.example /");
        expect(await seen("unjudged.example")).toMatch(/^503 /);
        expect(await seen("private.example")).toMatch(/^403 /);
        expect((await ask(world, "moved.example", "/a?b")).location).toBe(
          "301 https://new.example/a?b",
        );
        expect((await ask(world, "rooted.example")).location).toMatch(/^302 .*\/app$/);
        expect(await seen("rooted.example", "/app")).toBe("200 echo: rooted.example /app");
        expect((await ask(world, "secure.example", "/x")).location).toBe(
          "308 https://secure.example/x",
        );
        const statusesOf = async (host: string) => {
          const statuses = [];
          for (let turn = 0; turn < 4; turn += 1) {
            statuses.push((await seen(host)).split(" ")[0]);
          }
          return statuses;
        };
        expect(await statusesOf("limited.example")).toEqual(["200", "200", "429", "429"]);
        expect(await statusesOf("exempt.example")).toEqual(["200", "200", "200", "200"]);
        expect(await seen("denied.example")).toMatch(/^403 /);
        expect(await seen("shop.example")).toBe("200 echo: shop.example /");
        expect((await ask(world, "www.shop.example:81", "/a/?b")).location).toBe(
          "308 http://shop.example:81/a/?b",
        );
        const large = { method: "POST", body: "x".repeat(11) };
        expect((await world.ask("small.example", "/", large)).status).toBe(413);
        expect(await seen("other-name.example")).toBe("200 echo: other-name.example /");
        expect(await seen("both.example")).toBe("200 echo: both.example /");
        expect(await seen("both.example", "/", { "x-next": "always" })).toBe(
          "200 next: both.example /",
        );
        expect(await seen("nobody.example")).toBe("200 next: nobody.example /");
        expect(await problemTexts(world, client)).toEqual([
          "closed RouteClosed annotation nginx.ingress.kubernetes.io/auth-tls-secret: this " +
            "kind of authentication is not supported, so every request is answered with 503",
          "late HostTaken host plain.example belongs to namespace default (Ingress " +
            "default/plain takes precedence), so its rules are ignored",
          "lost BackendMissing backend lost:80: service default/lost does not exist in any cluster, so its " +
            "requests are answered with 503",
          "lost CertificateIgnored spec.tls[0]: secret default/lost of type kubernetes.io/tls does not " +
            "exist",
          "plain AnnotationIgnored annotation nginx.ingress.kubernetes.io/proxy-buffering: " +
            "not supported, so it is ignored",
          "unjudged BackendMissing backend lost:80: service default/lost does not exist in any cluster, so its " +
            "requests are answered with 503",
        ]);
      }),
    ));
});

async function withIngresses(
  world: ProxyWorld,
  run: (client: HttpKubeClient) => Promise<void>,
): Promise<void> {
  const { environment } = world;
  const server = new ApiServer({
    ...environment,
    storage: new MemoryStorage(environment),
    name: "lab",
    gitVersion: "v1.33.1",
    authentication: { tokens: new Map([["token", { name: "admin", groups: [] }]]) },
  });
  const { port } = await server.start({ host: "127.0.0.1", port: 0 });
  const cluster = fixedAccess({
    name: "lab",
    server: `http://127.0.0.1:${port}`,
    token: "token",
  });
  const client = new HttpKubeClient({ ...environment, cluster, userAgent: "admin" });
  const ports = await publish(world, client);
  const replica = new IngressReplica({
    environment,
    clusters: [cluster],
    access: cluster,
    className: "lockstep",
    policy: { followSlices: false, allowLocalNames: true },
    routing: { defaultBackend: { namespace: "default", name: "next", port: ports.next } },
    listen: [{ address: "127.0.0.1", port: world.port }],
    prefix: world.prefix,
    workers: 1,
    status: { host: "127.0.0.1", port: 0 },
  });
  try {
    await replica.start();
    await world.until(async () => (await world.ask("plain.example")).status === 200);
    await run(client);
  } finally {
    await replica.stop({ keepNginx: false });
    await server.stop();
  }
}

/** All services and Ingresses; returns the ports of the programs behind them. */
async function publish(world: ProxyWorld, client: HttpKubeClient) {
  const create = async (path: string, body: object): Promise<void> => {
    await client.request({ verb: "create", method: "POST", path, body });
  };
  await create("/api/v1/namespaces", { metadata: { name: "other" } });
  await create("/api/v1/namespaces/default/secrets", {
    metadata: { name: "users" },
    data: { auth: Buffer.from("ann:{PLAIN}secret\n").toString("base64") },
  });
  const ports = { echo: 0, next: 0 };
  for (const name of ["echo", "next"] as const) {
    const { peer } = await world.backend(name, (exchange) => {
      const { headers, target } = exchange.request;
      exchange.respond(200).end(Buffer.from(`${name}: ${headers["host"]} ${target}`));
    });
    const [externalName, port] = peer.split(":");
    ports[name] = Number(port);
    await create("/api/v1/namespaces/default/services", {
      metadata: { name },
      spec: { type: "ExternalName", externalName },
    });
  }
  for (const [name, one] of Object.entries(asked)) {
    const { namespace = "default", service = "echo", path = "/", host } = one;
    const pathType = path.includes("(") ? "ImplementationSpecific" : "Prefix";
    const number = one.port ?? (service === "lost" ? undefined : ports[service]);
    const backend = { service: { name: service, port: { number } } };
    const annotations = Object.entries(one.annotations ?? {}).map(([key, text]) => [
      `nginx.ingress.kubernetes.io/${key}`,
      text.replace(portOfNext, `${ports.next}`),
    ]);
    await create(`/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses`, {
      metadata: { name: name.toLowerCase(), annotations: Object.fromEntries(annotations) },
      spec: {
        ingressClassName: "lockstep",
        ...(one.tls === true && { tls: [{ hosts: [host], secretName: one.secretName }] }),
        rules: [{ host, http: { paths: [{ path, pathType, backend }] } }],
      },
    });
  }
  return ports;
}

async function ask(
  { environment, port }: ProxyWorld,
  host: string,
  target = "/",
  headers: Annotations = {},
): Promise<{ readonly said: string; readonly location: string }> {
  const response = await environment.network.request({
    method: "GET",
    url: `http://127.0.0.1:${port}${target}`,
    headers: { host, ...headers },
  });
  const body = await textOf(response.body);
  const { status } = response;
  return { said: `${status} ${body}`, location: `${status} ${response.headers["location"]}` };
}

/** The Events, when they are all there: `object reason message`. */
async function problemTexts(world: ProxyWorld, client: HttpKubeClient): Promise<readonly string[]> {
  let events: readonly string[] = [];
  await world.until(async () => {
    const answer = await client.request({ verb: "list", method: "GET", path: "/api/v1/events" });
    const { items } = parseJson(answer) as {
      readonly items: readonly {
        readonly involvedObject: { readonly name: string };
        readonly reason: string;
        readonly message: string;
      }[];
    };
    events = items.map(({ involvedObject, reason, message }) =>
      [involvedObject.name, reason, message].join(" "),
    );
    return events.length >= eventCount;
  });
  return events.toSorted();
}
