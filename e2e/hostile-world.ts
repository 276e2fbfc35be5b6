// For the test of hostile objects: an API server, a replica with real nginx, and one Ingress with a
// certificate in a namespace of its own, of which everything can be compared with how it was. Objects
// that the API server refuses can be stored past it.
import { webcrypto } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { connect } from "node:tls";
import { ApiServer } from "../src/apiserver/api-server.ts";
import { type KeyPair, makeAuthority } from "../src/apiserver/certificate-authority.ts";
import { MemoryStorage } from "../src/apiserver/storage/memory-storage.ts";
import { IngressReplica } from "../src/ingress/ingress-replica.ts";
import { StatusError } from "../src/kube/client/client.ts";
import { HttpKubeClient } from "../src/kube/client/http-client.ts";
import { fixedAccess } from "../src/kube/credentials/credentials.ts";
import { write } from "../tests/tenants/api-write.ts";
import { ProxyWorld, textOf } from "./proxy-world.ts";

export interface ApiObject {
  /** Where it is created, and where it is stored. */
  readonly path: string;
  readonly key: string;
  readonly body: { readonly metadata: object; readonly [field: string]: unknown };
}

export interface IngressSpec {
  readonly ingressClassName: string;
  readonly rules: readonly [
    { readonly host: string; readonly http: { readonly paths: readonly object[] } },
  ];
}

/** The state that must not change. */
export interface Fingerprint {
  readonly answers: readonly unknown[];
  readonly certificate: string;
  readonly files: Readonly<Record<string, string>>;
  readonly workers: readonly number[];
}

export const hostile = "hostile";
const kept = "kept.example";
const tlsAddress = "127.0.0.2";

export class HostileWorld {
  readonly proxy: ProxyWorld;
  replica: IngressReplica;
  /** A certificate for kept.example, and one for another name. */
  readonly own: KeyPair;
  readonly other: KeyPair;
  /** How many objects the API server refused. */
  refused = 0;
  readonly client: HttpKubeClient;
  readonly #storage: MemoryStorage;
  readonly #peer: string;
  readonly #newReplica: () => IngressReplica;

  /** With the Ingress that is kept already served. */
  static use(test: (world: HostileWorld) => Promise<void>): Promise<void> {
    return ProxyWorld.use(async (proxy) => {
      const { environment } = proxy;
      const storage = new MemoryStorage(environment);
      const server = new ApiServer({
        ...environment,
        storage,
        name: "lab",
        gitVersion: "v1.33.1",
        authentication: { tokens: new Map([["token", { name: "admin", groups: [] }]]) },
      });
      const { port } = await server.start({ host: "127.0.0.1", port: 0 });
      const { clock } = environment;
      const authority = await makeAuthority({ clock, crypto: webcrypto, name: "test" });
      const keys = [
        await authority.issueServer([kept]),
        await authority.issueServer(["o.example"]),
      ];
      const { peer } = await proxy.backend("kept", (exchange) => {
        const { headers, target } = exchange.request;
        exchange.respond(200).end(Buffer.from(`${headers["host"]} ${target}`));
      });
      const world = new HostileWorld(proxy, storage, `http://127.0.0.1:${port}`, keys, peer);
      try {
        await world.#start();
        await test(world);
      } finally {
        await world.replica.stop({ keepNginx: false });
        await server.stop();
      }
    });
  }

  private constructor(
    proxy: ProxyWorld,
    storage: MemoryStorage,
    server: string,
    [own, other]: readonly KeyPair[],
    peer: string,
  ) {
    if (own === undefined || other === undefined) throw new Error("two certificates are needed");
    const { environment, port, prefix } = proxy;
    const cluster = fixedAccess({ name: "lab", server, token: "token" });
    this.proxy = proxy;
    this.own = own;
    this.other = other;
    this.#storage = storage;
    this.#peer = peer;
    this.client = new HttpKubeClient({ ...environment, cluster, userAgent: "admin" });
    this.#newReplica = () =>
      new IngressReplica({
        environment,
        clusters: [cluster],
        access: cluster,
        className: "lockstep",
        policy: { followSlices: true, allowLocalNames: true },
        listen: [
          { address: "127.0.0.1", port },
          { address: tlsAddress, port, tls: true },
        ],
        prefix,
        workers: 1,
        status: { host: "127.0.0.1", port: 0 },
      });
    this.replica = this.#newReplica();
  }

  /** Another Lockstep takes the place of this one; nginx goes on meanwhile. */
  async restart(): Promise<void> {
    await this.replica.stop({ keepNginx: true });
    this.replica = this.#newReplica();
    await this.replica.start();
  }

  async #start(): Promise<void> {
    const externalName = this.#peer.split(":")[0];
    for (const name of ["kept", hostile]) {
      await this.create({ path: "/api/v1/namespaces", key: "", body: { metadata: { name } } });
      await this.create(service("echo", { type: "ExternalName", externalName }, {}, name));
    }
    await this.create(secret("tls", this.own.cert, this.own.key, "kept"));
    const spec = { ...this.specOf(kept), tls: [{ secretName: "tls" }] };
    await this.create(ingress("kept", spec, { "lockstep.dev/ssl-redirect": "false" }, "kept"));
    await this.replica.start();
    await this.proxy.until(async () => (await this.proxy.ask(kept)).status === 200);
    await this.proxy.until(async () => (await this.shownFor(kept)) === kept);
  }

  async create({ path, body }: ApiObject): Promise<void> {
    await write(this.client, { method: "POST", path, body });
  }

  /** Past the API server, when it refuses. */
  async force(object: ApiObject): Promise<void> {
    try {
      await this.create(object);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      this.refused += 1;
      const metadata = { uid: `uid-${this.refused}`, ...object.body.metadata };
      const stored = JSON.stringify({ ...object.body, metadata });
      await this.#storage.put(object.key, Buffer.from(stored), 0);
    }
  }

  /** An Ingress of the host, all of which leads to the service `echo` of its namespace. */
  specOf(host: string): IngressSpec {
    const port = { number: Number(this.#peer.split(":")[1]) };
    const backend = { service: { name: "echo", port } };
    const paths = [{ path: "/", pathType: "ImplementationSpecific", backend }];
    return { ingressClassName: "lockstep", rules: [{ host, http: { paths } }] };
  }

  /** Everything that must stay as it is, whatever the other namespace has. */
  async fingerprint(): Promise<Fingerprint> {
    const { environment, port, prefix } = this.proxy;
    const answers: unknown[] = [];
    for (const target of ["/", "/a%2Fb?x=1", "/x/../y"]) {
      const url = `http://127.0.0.1:${port}${target}`;
      const asked = { method: "GET", url, headers: { host: kept } };
      const { status, headers, body } = await environment.network.request(asked);
      answers.push([status, { ...headers, date: undefined }, await textOf(body)]);
    }
    return {
      answers,
      certificate: await this.shownFor(kept),
      files: filesOf(prefix),
      workers: (await this.proxy.control().state()).workerPids,
    };
  }

  /** The common name of the certificate that is shown for the name. */
  shownFor(servername: string): Promise<string> {
    const place = { host: tlsAddress, port: this.proxy.port, servername };
    return new Promise((resolve, reject) => {
      const socket = connect({ ...place, rejectUnauthorized: false }, () => {
        resolve(String(socket.getPeerCertificate().subject?.CN));
        socket.destroy();
      });
      socket.on("error", reject);
    });
  }
}

/** All that nginx reads at its start. */
function filesOf(prefix: string): Readonly<Record<string, string>> {
  const names = readdirSync(prefix, { recursive: true, encoding: "utf8" });
  const read = names.filter((name) => /\.(conf|lua|crt|key)$/.test(name));
  return Object.fromEntries(read.map((name) => [name, readFileSync(`${prefix}/${name}`, "utf8")]));
}

export function ingress(
  name: string,
  spec: object,
  annotations: object = {},
  namespace = hostile,
): ApiObject {
  return {
    path: `/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses`,
    key: `/registry/ingress/${namespace}/${name}`,
    body: {
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name, namespace, annotations },
      spec,
    },
  };
}

export function service(
  name: string,
  spec: object,
  annotations: object = {},
  namespace = hostile,
): ApiObject {
  const metadata = { name, namespace, annotations };
  return {
    path: `/api/v1/namespaces/${namespace}/services`,
    key: `/registry/services/specs/${namespace}/${name}`,
    body: { apiVersion: "v1", kind: "Service", metadata, spec },
  };
}

export function secret(name: string, cert: string, key: string, namespace = hostile): ApiObject {
  const encoded = (text: string) => Buffer.from(text).toString("base64");
  const data = { "tls.crt": encoded(cert), "tls.key": encoded(key) };
  return {
    path: `/api/v1/namespaces/${namespace}/secrets`,
    key: `/registry/secrets/${namespace}/${name}`,
    body: {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name, namespace },
      type: "kubernetes.io/tls",
      data,
    },
  };
}

/** A slice of the service, of these endpoints and one port. */
export function slice(name: string, of: string, endpoints: object[], port: object): ApiObject {
  const labels = { "kubernetes.io/service-name": of };
  return {
    path: `/apis/discovery.k8s.io/v1/namespaces/${hostile}/endpointslices`,
    key: `/registry/endpointslices/${hostile}/${name}`,
    body: {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name, namespace: hostile, labels },
      addressType: "IPv4",
      endpoints,
      ports: [{ port: 80, protocol: "TCP", ...port }],
    },
  };
}
