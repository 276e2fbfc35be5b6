// From a secret in a cluster to what a client is shown: an embedded API server, a replica, real nginx.
import { webcrypto } from "node:crypto";
import { connect } from "node:tls";
import { describe, expect, it } from "vitest";
import { ApiServer } from "../src/apiserver/api-server.ts";
import { type KeyPair, makeAuthority } from "../src/apiserver/certificate-authority.ts";
import { MemoryStorage } from "../src/apiserver/storage/memory-storage.ts";
import { IngressReplica } from "../src/ingress/ingress-replica.ts";
import { HttpKubeClient } from "../src/kube/client/http-client.ts";
import { fixedAccess } from "../src/kube/credentials/credentials.ts";
import { ProxyWorld, withoutNginx } from "./proxy-world.ts";

const secrets = "/api/v1/namespaces/default/secrets";
const tlsAddress = "127.0.0.2";

describe.skipIf(withoutNginx !== false)("an Ingress with TLS", () => {
  it("has its secret's certificate shown, a new one as soon as it is there, and redirects to it", () =>
    ProxyWorld.use(async (world) => {
      const { environment, port } = world;
      const { clock } = environment;
      const authority = await makeAuthority({ clock, crypto: webcrypto, name: "test" });
      const [old, renewed, any] = [
        await authority.issueServer(["old.example", "web.example"]),
        await authority.issueServer(["renewed.example", "web.example"]),
        await authority.issueServer(["default.example"]),
      ];
      const server = new ApiServer({
        ...environment,
        storage: new MemoryStorage(environment),
        name: "lab",
        gitVersion: "v1.33.1",
        authentication: { tokens: new Map([["token", { name: "admin", groups: [] }]]) },
      });
      const api = await server.start({ host: "127.0.0.1", port: 0 });
      const address = `http://127.0.0.1:${api.port}`;
      const cluster = fixedAccess({ name: "lab", server: address, token: "token" });
      const admin = new HttpKubeClient({ ...environment, cluster, userAgent: "admin" });
      const create = (path: string, body: object) =>
        admin.request({ verb: "create", method: "POST", path, body });
      const type = "kubernetes.io/tls";
      await create(secrets, { metadata: { name: "web" }, type, data: dataOf(old) });
      await create(secrets, { metadata: { name: "any" }, type, data: dataOf(any) });
      const backend = { service: { name: "web", port: { number: 80 } } };
      const paths = [{ path: "/", pathType: "Prefix", backend }];
      await create("/apis/networking.k8s.io/v1/namespaces/default/ingresses", {
        metadata: { name: "web" },
        spec: {
          ingressClassName: "lockstep",
          rules: [{ host: "web.example", http: { paths } }],
          tls: [{ hosts: ["web.example"], secretName: "web" }],
        },
      });
      const replica = new IngressReplica({
        environment,
        clusters: [cluster],
        access: cluster,
        className: "lockstep",
        defaultCertificate: { namespace: "default", name: "any" },
        policy: { followSlices: false },
        listen: [
          { address: "127.0.0.1", port },
          { address: tlsAddress, port, tls: true },
        ],
        prefix: world.prefix,
        workers: 1,
        status: { host: "127.0.0.1", port: 0 },
      });
      try {
        await replica.start();
        await world.until(() => replica.notReadyBecause === undefined);
        // Secrets are read after the Ingresses that name them.
        await world.until(async () => (await shownAt(port, "web.example")) === "old.example");
        await world.until(async () => (await shownAt(port, "other.example")) === "default.example");
        expect((await world.ask("web.example")).status).toBe(308);
        await tenants(create, await authority.issueServer(["*.wild.example"]));
        await world.until(async () => (await shownAt(port, "a.wild.example")) === "*.wild.example");
        const asked = { host: "login.wild.example", path: "/", isSecure: true, headers: {} };
        const refusal =
          "Ingress b/web: host login.wild.example is under *.wild.example, which belongs " +
          "to namespace a (Ingress a/web takes precedence), so its rules are ignored";
        await world.until(async () => (await replica.explain(asked)).problems.includes(refusal));
        expect((await replica.explain(asked)).origin).toBe("Ingress a/web");
        // The older of the two has the host.
        expect(await shownAt(port, "login.wild.example")).toBe("*.wild.example");
        await admin.request({
          verb: "patch",
          method: "PATCH",
          path: `${secrets}/web`,
          contentType: "application/merge-patch+json",
          body: { data: dataOf(renewed) },
        });
        await world.until(async () => (await shownAt(port, "web.example")) === "renewed.example");
        await admin.request({ verb: "delete", method: "DELETE", path: `${secrets}/web` });
        await world.until(async () => (await shownAt(port, "web.example")) === "default.example");
      } finally {
        await replica.stop({ keepNginx: false });
        await server.stop();
      }
    }));
});

/** In the order of their age, also where they are created within a second. */
async function tenants(
  create: (path: string, body: object) => Promise<unknown>,
  wildcard: KeyPair,
): Promise<void> {
  const hosts = { a: "*.wild.example", b: "login.wild.example" };
  const data = dataOf(wildcard);
  for (const [namespace, host] of Object.entries(hosts)) {
    await create("/api/v1/namespaces", { metadata: { name: namespace } });
    const type = "kubernetes.io/tls";
    const isOwner = namespace === "a";
    if (isOwner) {
      await create("/api/v1/namespaces/a/secrets", { metadata: { name: "wild" }, type, data });
    }
    const backend = { service: { name: "web", port: { number: 80 } } };
    await create(`/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses`, {
      metadata: { name: "web" },
      spec: {
        ingressClassName: "lockstep",
        rules: [{ host, http: { paths: [{ path: "/", pathType: "Prefix", backend }] } }],
        ...(isOwner ? { tls: [{ hosts: [host], secretName: "wild" }] } : {}),
      },
    });
  }
}

function dataOf({ cert, key }: KeyPair) {
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  return { "tls.crt": base64(cert), "tls.key": base64(key) };
}

/** The common name of the certificate that a client is shown. */
function shownAt(port: number, servername: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { host: tlsAddress, port, servername, rejectUnauthorized: false };
    const socket = connect(options, () => {
      const { CN } = socket.getPeerCertificate().subject;
      socket.destroy();
      resolve(String(CN));
    });
    socket.on("error", reject);
  });
}
