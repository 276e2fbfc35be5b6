// A calm tenant: hosts with pods, certificates, passwords and external names, changed one at a
// time, with the state that the proxy must have for each of them at any moment. The expectation
// comes from the writes alone, not from the product.
import type { KeyPair } from "../../src/apiserver/certificate-authority.ts";
import type { ApiWrite } from "./api-write.ts";

/** The expected state of a host in the proxy; undefined if the proxy must not know it. */
export interface Expected {
  readonly host: string;
  /** Of the endpoints, sorted. */
  readonly addresses: readonly string[];
  /** PEM; undefined when the host has none of its own. */
  readonly certificate: string | undefined;
  /** The users with a password; undefined if none is needed. */
  readonly users: string | undefined;
}

export interface CalmTenantOptions {
  readonly namespace: string;
  /** The first two octets of its pods' addresses. */
  readonly network: string;
  /** Key pairs for `*.NAMESPACE.example`. */
  readonly keyPairs: readonly KeyPair[];
  readonly write: (write: ApiWrite) => Promise<void>;
  /** Makes a name resolve to this address from now on. */
  readonly resolve: (name: string, address: string) => void;
}

interface CalmHost {
  readonly name: string;
  readonly pods: Map<string, string>;
  certificate: string | undefined;
  users: string | undefined;
  external: string | undefined;
}

const digest = "{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=";
const podPort = 8080;

export class CalmTenant {
  readonly #options: CalmTenantOptions;
  readonly #hosts = new Map<string, CalmHost>();
  #count = 0;

  constructor(options: CalmTenantOptions) {
    this.#options = options;
  }

  get hosts(): readonly string[] {
    return [...this.#hosts.values()].map((host) => this.#hostName(host));
  }

  /** Of every host that exists now. */
  get expected(): readonly Expected[] {
    return [...this.#hosts.values()].map((host) => ({
      host: this.#hostName(host),
      addresses: host.external === undefined ? [...host.pods.values()].sort() : [host.external],
      certificate: host.certificate,
      users: host.users,
    }));
  }

  async open(): Promise<void> {
    const { namespace } = this.#options;
    await this.#post("/api/v1/namespaces", { metadata: { name: namespace } });
    for (let host = 0; host < 3; host += 1) await this.addHost(host);
  }

  /** With two pods; every second host has a certificate and a password, every third a name. */
  async addHost(choice: number): Promise<void> {
    const host: CalmHost = {
      name: this.#next("site"),
      pods: new Map(),
      certificate: undefined,
      users: undefined,
      external: undefined,
    };
    const isExternal = choice % 3 === 2;
    const externalName = `${host.name}.${this.#options.namespace}.backend`;
    await this.#create("/api/v1", "services", {
      metadata: { name: host.name },
      spec: isExternal
        ? { type: "ExternalName", externalName }
        : { selector: { app: host.name }, ports: [{ port: 80, targetPort: podPort }] },
    });
    if (isExternal) this.#rename(host);
    else for (let pod = 0; pod < 2; pod += 1) await this.#addPod(host);
    if (choice % 2 === 0) {
      await this.#secret(host, "POST");
      await this.#passwords(host, "POST");
    }
    await this.#ingress(host, choice % 2 === 0);
    this.#hosts.set(host.name, host);
  }

  /** Changes something of one host; says what. */
  async change(choice: number): Promise<string> {
    const all = [...this.#hosts.values()];
    const host = all[choice % all.length];
    if (host === undefined) return "nothing";
    const what = Math.floor(choice / all.length) % 5;
    if (what === 0) {
      await this.addHost(choice);
      return "a new host";
    }
    if (what === 1 && host.certificate !== undefined) {
      await this.#secret(host, "PATCH");
      return `a new certificate of ${host.name}`;
    }
    if (what === 2 && host.users !== undefined) {
      await this.#passwords(host, "PATCH");
      return `new users of ${host.name}`;
    }
    if (host.external !== undefined) {
      this.#rename(host);
      return `${host.name} resolves to another address`;
    }
    return await this.#changePods(host, what);
  }

  async #changePods(host: CalmHost, what: number): Promise<string> {
    const [oldest] = host.pods.keys();
    if (what === 3 || host.pods.size < 2 || oldest === undefined) {
      await this.#addPod(host);
      return `a new pod of ${host.name}`;
    }
    const path = `/api/v1/namespaces/${this.#options.namespace}/pods/${oldest}`;
    host.pods.delete(oldest);
    await this.#options.write({ method: "DELETE", path, body: { gracePeriodSeconds: 0 } });
    return `${oldest} is deleted`;
  }

  async #addPod(host: CalmHost): Promise<void> {
    const name = this.#next(host.name);
    const address = this.#address();
    const spec = { nodeName: "n1", containers: [{ name: "c", image: "web:1" }] };
    await this.#create("/api/v1", "pods", { metadata: { name, labels: { app: host.name } }, spec });
    host.pods.set(name, address);
    const conditions = [{ type: "Ready", status: "True" }];
    const status = { phase: "Running", conditions, podIP: address, podIPs: [{ ip: address }] };
    const path = `/api/v1/namespaces/${this.#options.namespace}/pods/${name}/status`;
    await this.#options.write({ method: "PATCH", path, body: { status } });
  }

  #rename(host: CalmHost): void {
    host.external = this.#address();
    this.#options.resolve(`${host.name}.${this.#options.namespace}.backend`, host.external);
  }

  async #secret(host: CalmHost, method: "POST" | "PATCH"): Promise<void> {
    const { keyPairs } = this.#options;
    const known = keyPairs.findIndex(({ cert }) => cert.trim() === host.certificate);
    const pair = keyPairs[(known + 1) % keyPairs.length];
    if (pair === undefined) throw new Error("a tenant needs a key pair");
    host.certificate = pair.cert.trim();
    const data = { "tls.crt": base64(pair.cert), "tls.key": base64(pair.key) };
    await this.#put("secrets", `${host.name}-tls`, method, { type: "kubernetes.io/tls", data });
  }

  async #passwords(host: CalmHost, method: "POST" | "PATCH"): Promise<void> {
    host.users = this.#next("user");
    const data = { auth: base64(`${host.users}:${digest}\n`) };
    await this.#put("secrets", `${host.name}-users`, method, { type: "Opaque", data });
  }

  async #ingress(host: CalmHost, isProtected: boolean): Promise<void> {
    const backend = { service: { name: host.name, port: { number: 80 } } };
    const name = this.#hostName(host);
    const rules = [{ host: name, http: { paths: [{ path: "/", pathType: "Prefix", backend }] } }];
    const annotations = isProtected
      ? { "lockstep.dev/auth-type": "basic", "lockstep.dev/auth-secret": `${host.name}-users` }
      : {};
    const tls = isProtected ? [{ hosts: [name], secretName: `${host.name}-tls` }] : [];
    await this.#create("/apis/networking.k8s.io/v1", "ingresses", {
      metadata: { name: host.name, annotations },
      spec: { ingressClassName: "lockstep", rules, tls },
    });
  }

  async #put(kind: string, name: string, method: "POST" | "PATCH", fields: object): Promise<void> {
    const collection = `/api/v1/namespaces/${this.#options.namespace}/${kind}`;
    const path = method === "POST" ? collection : `${collection}/${name}`;
    await this.#options.write({ method, path, body: { metadata: { name }, ...fields } });
  }

  async #create(group: string, kind: string, body: object): Promise<void> {
    await this.#post(`${group}/namespaces/${this.#options.namespace}/${kind}`, body);
  }

  async #post(path: string, body: object): Promise<void> {
    await this.#options.write({ method: "POST", path, body });
  }

  #hostName({ name }: CalmHost): string {
    return `${name}.${this.#options.namespace}.example`;
  }

  #next(stem: string): string {
    this.#count += 1;
    return `${stem}-${this.#count}`;
  }

  #address(): string {
    this.#count += 1;
    return `${this.#options.network}.${this.#count >> 8}.${this.#count & 255}`;
  }
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
