// Conformance suites of Ingress, from outside, against the lab, `lockstep ingress` and nginx as
// users run them: pods with a suite's echo server report the requests that reached them. The tables
// of paths and hosts are in src/outputs/nginx/ingress-meaning.test.ts.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseJson } from "../src/kube/client/client.ts";
import { HttpKubeClient } from "../src/kube/client/http-client.ts";
import { isRecord, listAt, type RawRecord, recordAt } from "../src/kube/kinds/fields.ts";
import { IngressProcess } from "./ingress-process.ts";
import { textOf, withoutNginx } from "./proxy-world.ts";
import { ingressClass, ShopsWorld } from "./shops-world.ts";

const ingresses = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";
const address = "127.0.0.1";
const replicas = 10;

const backend = { service: { name: "echo", port: { number: 8080 } } };

const deployment = {
  metadata: { name: "echo" },
  spec: {
    replicas,
    selector: { matchLabels: { app: "echo" } },
    template: {
      metadata: { labels: { app: "echo" } },
      spec: {
        containers: [
          {
            name: "echo",
            image: "registry.example/ingressconformance/echoserver:v0.0.1",
            env: [
              { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
              { name: "NAMESPACE", valueFrom: { fieldRef: { fieldPath: "metadata.namespace" } } },
              { name: "INGRESS_NAME", value: "everything" },
              { name: "SERVICE_NAME", value: "echo" },
            ],
            readinessProbe: {
              httpGet: { path: "/health", port: 3000 },
              periodSeconds: 1,
              timeoutSeconds: 60,
            },
          },
        ],
      },
    },
  },
};

const objects: readonly (readonly [string, object])[] = [
  ["/apis/apps/v1/namespaces/default/deployments", deployment],
  [
    "/api/v1/namespaces/default/services",
    {
      metadata: { name: "echo" },
      spec: { selector: { app: "echo" }, ports: [{ port: 8080, targetPort: 3000 }] },
    },
  ],
  [
    ingresses,
    {
      metadata: { name: "nobodys" },
      spec: { ingressClassName: "no-such-class", defaultBackend: backend },
    },
  ],
  [
    ingresses,
    {
      metadata: { name: "everything" },
      spec: { ingressClassName: ingressClass, defaultBackend: backend },
    },
  ],
];

describe.skipIf(withoutNginx !== false)("an Ingress with nothing but a default backend", () => {
  let world: ShopsWorld;
  let ingress: IngressProcess;
  let client: HttpKubeClient;

  const ask = async (host: string, path: string, method = "GET") => {
    const url = `http://${ingress.address}${path}`;
    const headers = { host, "user-agent": "suite/1" };
    const answer = await world.environment.network.request({ method, url, headers });
    const text = await textOf(answer.body);
    return { status: answer.status, headers: answer.headers, text };
  };

  const addressesOf = async (name: string): Promise<readonly unknown[]> => {
    const request = { verb: "get", method: "GET", path: `${ingresses}/${name}` } as const;
    const object = parseJson(await client.request(request));
    const status = isRecord(object) ? recordAt(object, "status") : {};
    return listAt(recordAt(status, "loadBalancer"), "ingress");
  };

  beforeAll(async () => {
    world = await ShopsWorld.start({ shops: 1, replicas: 1 });
    const { environment, access: cluster } = world;
    client = new HttpKubeClient({ ...environment, cluster, userAgent: "e2e" });
    for (const [path, body] of objects) {
      await client.request({ verb: "create", method: "POST", path, body });
    }
    ingress = await IngressProcess.start(world, "replica", ["--publish-address", address]);
    await world.until("all pods serve", async () => {
      return (await ingress.activeAddresses("default/echo:8080")).size === replicas;
    });
  });

  afterAll(async () => {
    await world.stop();
  });

  it("shows where it is served, and one of an unknown class does not", async () => {
    await world.until("the address is shown", async () => {
      return (await addressesOf("everything")).length > 0;
    });
    expect(await addressesOf("everything")).toEqual([{ ip: address }]);
    expect(await addressesOf("nobodys")).toEqual([]);
  });

  it.each([
    ["GET", "my-host", "/"],
    ["GET", "my-host", "/sub-path"],
    ["POST", "some-host", "/"],
    ["PUT", address, "/resource"],
    ["DELETE", "some-host", "/resource"],
    ["PATCH", "my-host", "/resource?a=b"],
  ])("serves %s of %s%s as it was sent", async (method, host, path) => {
    const { status, headers, text } = await ask(host, path, method);
    const seen = echoed(text);
    expect([status, seen]).toEqual([
      200,
      {
        path,
        host,
        method,
        proto: "HTTP/1.1",
        headers: expect.objectContaining({ "User-Agent": ["suite/1"] }),
        namespace: "default",
        ingress: "everything",
        service: "echo",
        pod: expect.stringMatching(/^echo-/),
      },
    ]);
    expect(headers).toMatchObject({
      "content-length": String(Buffer.byteLength(text)),
      "content-type": "application/json",
      date: expect.any(String),
      server: expect.any(String),
    });
  });

  it("is served by the time it shows where, each of many", async () => {
    const http = { paths: [{ path: "/", pathType: "Prefix", backend }] };
    for (let count = 0; count < 10; count += 1) {
      const name = `shown-${count}`;
      const rules = [{ host: `${name}.example`, http: { ...http } }];
      // A default would serve the host before its own rule does, with another status.
      const annotations = { "lockstep.dev/permanent-redirect": `https://${name}.example/` };
      const body = {
        metadata: { name, annotations },
        spec: { ingressClassName: ingressClass, rules },
      };
      await client.request({ verb: "create", method: "POST", path: ingresses, body });
      while ((await addressesOf(name)).length === 0);
      expect([name, (await ask(`${name}.example`, "/")).status]).toEqual([name, 301]);
    }
  });

  it("uses all its pods", async () => {
    const pods = new Set<unknown>();
    for (let count = 0; count < 100; count += 1) {
      pods.add(echoed((await ask("load-balancing", "/")).text)["pod"]);
    }
    expect(pods.size).toBe(replicas);
  });
});

function echoed(text: string): RawRecord {
  const value: unknown = JSON.parse(text);
  return isRecord(value) ? value : {};
}
