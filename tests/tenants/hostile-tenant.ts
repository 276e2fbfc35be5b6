// A hostile or careless tenant writes into its own namespace: objects as large as the API server
// takes, thousands of them, names that belong to others, and all of it changed again and again.
// Plain API writes, drawn from a seed; used by the soaks and by the benchmark.
import { type Random, randomInt } from "../../src/environment/random.ts";
import type { ApiWrite } from "./api-write.ts";

/** Some writes that belong together, with a name for the story of a seed. */
export interface HostileAct {
  readonly name: string;
  readonly writes: readonly ApiWrite[];
}

export interface HostileTenantOptions {
  readonly namespace: string;
  readonly random: Random;
  /** Hosts of other tenants that exist now, to be claimed. */
  readonly victims: () => readonly string[];
  /** A TLS key pair for any name, to make certificates of any size from. */
  readonly keyPair: { readonly cert: string; readonly key: string };
  /** How many of its objects are as large as the API server takes: from 0 to 1. */
  readonly largestShare: number;
}

/** etcd takes 1.5 MiB; the rest of the object needs some room. */
const objectBytes = 1_000_000;
/** All annotations of an object together; the API server refuses more. */
const annotationBytes = 256_000;

const ingressClass = "lockstep";
const kinds = {
  ingresses: "/apis/networking.k8s.io/v1",
  endpointslices: "/apis/discovery.k8s.io/v1",
  services: "/api/v1",
  secrets: "/api/v1",
} as const;

type Plural = keyof typeof kinds;

/** Names whose server never answers, as those of a domain that its owner has given up. */
export const unansweredSuffix = ".unanswered.invalid";

/** Each is costly in its own way: alternation, classes, repeats of repeats, long literals. */
const patterns = [
  "/(a|b|c|d|e|f)*x",
  "/(([a-z]+)[0-9]*)+z",
  "/[a-z0-9._~-]{1,100}/y",
  `/${"literal".repeat(50)}`,
  "/(x?){30}x",
] as const;

export class HostileTenant {
  readonly #options: HostileTenantOptions;
  /** The existing objects, by path. */
  readonly #existing = new Map<string, Plural>();
  #count = 0;

  constructor(options: HostileTenantOptions) {
    this.#options = options;
  }

  /** The next thing it does. */
  next(): HostileAct {
    const acts: readonly (() => HostileAct)[] = [
      () => this.#largeIngress(),
      () => this.#largeIngress(),
      () => this.#manyIngresses(),
      () => this.#absentCertificates(),
      () => this.#multipliedNames(),
      () => this.#absentPasswords(),
      () => this.#largeUserList(),
      () => this.#externalNames(),
      () => this.#manyEndpoints(),
      () => this.#largeCertificates(),
      () => this.#expressions(),
      () => this.#claims(),
      () => this.#churn(),
      () => this.#removal(),
    ];
    return (acts[this.#int(acts.length)] ?? (() => this.#largeIngress()))();
  }

  /** Every path carries the allowlist, every alias every path: 34 kB can stand for gigabytes. */
  #largeIngress(): HostileAct {
    const paths = Math.min(this.#upTo(3_000), Math.floor((objectBytes - annotationBytes) / 200));
    const aliases = this.#upTo(2_000);
    const networks = this.#upTo(16_000);
    const name = this.#name("large");
    const annotations = fitting({
      "server-alias": list(aliases, (index) => `${name}-${index}.example`),
      "allowlist-source-range": list(networks, (index) => networkOf(index)),
    });
    const rules = [
      rule(
        `${name}.example`,
        list(paths, (index) => path(`/p${index}`)),
      ),
    ];
    return {
      name: `an Ingress of ${paths} paths, ${networks} networks and ${aliases} aliases`,
      writes: [this.#create("ingresses", name, { rules }, annotations)],
    };
  }

  #manyIngresses(): HostileAct {
    const count = this.#upTo(800);
    const headers = list(this.#upTo(200), (index) => `X-Header-${index}`);
    const writes = list(count, () => {
      const name = this.#name("many");
      const annotations = { "enable-cors": ["true"], "cors-allow-headers": headers };
      return this.#create("ingresses", name, { rules: [rule(`${name}.example`)] }, annotations);
    });
    return { name: `${count} Ingresses`, writes };
  }

  #absentCertificates(): HostileAct {
    const count = this.#upTo(2_000);
    const name = this.#name("tls");
    const tls = list(count, (index) => ({
      hosts: [`${name}-${index}.example`],
      secretName: `absent-${name}-${index}`,
    }));
    const spec = { tls, rules: [rule(`${name}-0.example`)] };
    return {
      name: `an Ingress that names ${count} TLS secrets that do not exist`,
      writes: [this.#create("ingresses", name, spec)],
    };
  }

  /** Every entry without hosts is for every host, and every name of a host for all its rules. */
  #multipliedNames(): HostileAct {
    const count = this.#upTo(1_000);
    const name = this.#name("names");
    const hosts = list(count, (index) => rule(`${name}-${index}.example`));
    const tls = list(count, (index) => ({ secretName: `absent-${name}-${index}` }));
    const givers = list(this.#upTo(60), (index) => {
      const aliases = list(100, (at) => `${name}-${index}-${at}.example`);
      const rules = [rule(`${name}.example`, [path(`/${index}`)])];
      return this.#create("ingresses", this.#name("alias"), { rules }, { "server-alias": aliases });
    });
    return {
      name: `${count} hosts in ${count} tls entries, and ${givers.length} Ingresses that name one host`,
      writes: [this.#create("ingresses", name, { rules: hosts, tls }), ...givers],
    };
  }

  #absentPasswords(): HostileAct {
    const count = this.#upTo(200);
    const writes = list(count, () => {
      const name = this.#name("auth");
      const annotations = { "auth-type": ["basic"], "auth-secret": [`absent-${name}`] };
      return this.#create("ingresses", name, { rules: [rule(`${name}.example`)] }, annotations);
    });
    return { name: `${count} Ingresses that name password secrets that do not exist`, writes };
  }

  #largeUserList(): HostileAct {
    const count = Math.min(this.#upTo(20_000), Math.floor(objectBytes / 80));
    const name = this.#name("users");
    const digest = "{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=";
    const auth = list(count, (index) => `user-${index}:${digest}`).join("\n");
    const annotations = { "auth-type": ["basic"], "auth-secret": [name] };
    return {
      name: `a password secret of ${count} users`,
      writes: [
        this.#secret(name, { type: "Opaque", data: { auth: base64(auth) } }),
        this.#create("ingresses", name, { rules: [rule(`${name}.example`)] }, annotations),
      ],
    };
  }

  #externalNames(): HostileAct {
    const count = this.#upTo(1_500);
    const services = list(count, () => this.#name("ext"));
    const suffix = this.#int(2) === 0 ? ".invalid" : unansweredSuffix;
    const writes = services.map((name) =>
      this.#create("services", name, { type: "ExternalName", externalName: `${name}${suffix}` }),
    );
    const perIngress = 500;
    for (let from = 0; from < count; from += perIngress) {
      const some = services.slice(from, from + perIngress);
      const name = this.#name("external");
      const paths = some.map((service) => path(`/${service}`, service));
      writes.push(this.#create("ingresses", name, { rules: [rule(`${name}.example`, paths)] }));
    }
    return { name: `${count} external names without an answer`, writes };
  }

  #manyEndpoints(): HostileAct {
    const count = this.#upTo(20_000);
    const name = this.#name("wide");
    const writes = [this.#create("services", name, { ports: [{ port: 80 }] })];
    const perSlice = 1_000;
    for (let from = 0; from < count; from += perSlice) {
      const endpoints = list(Math.min(perSlice, count - from), (index) => ({
        addresses: [networkOf(from + index).replace("/32", "")],
        conditions: { ready: true },
      }));
      const slice = this.#name(name);
      const labels = { "kubernetes.io/service-name": name };
      writes.push(
        this.#created("endpointslices", slice, {
          metadata: { name: slice, labels },
          addressType: "IPv4",
          ports: [{ port: 8080 }],
          endpoints,
        }),
      );
    }
    const rules = [rule(`${name}.example`, [path("/", name)])];
    writes.push(this.#create("ingresses", name, { rules }));
    return { name: `a service of ${count} endpoints`, writes };
  }

  #largeCertificates(): HostileAct {
    const { cert, key } = this.#options.keyPair;
    const count = this.#upTo(200);
    const copies = this.#upTo(12);
    const chain = base64(list(copies, () => cert).join("\n"));
    const writes = list(count, () => {
      const name = this.#name("chain");
      return this.#secret(name, {
        type: "kubernetes.io/tls",
        data: { "tls.crt": chain, "tls.key": base64(key) },
      });
    });
    const name = this.#name("chains");
    const tls = writes.map(({ body }, index) => ({
      hosts: [`${name}-${index}.example`],
      secretName: body.metadata.name,
    }));
    const rules = list(count, (index) => rule(`${name}-${index}.example`));
    writes.push(this.#create("ingresses", name, { tls, rules }));
    return { name: `${count} certificates with chains of ${copies}`, writes };
  }

  #expressions(): HostileAct {
    const count = this.#upTo(2_000);
    const name = this.#name("regex");
    const rules = list(Math.ceil(count / 100), (host) => {
      const paths = list(100, (index) => {
        const pattern = patterns[(host + index) % patterns.length] ?? patterns[0];
        return path(`${pattern}${host}-${index}`, "web", "ImplementationSpecific");
      });
      return rule(`${name}-${host}.example`, paths);
    });
    const annotations = { "use-regex": ["true"] };
    return {
      name: `an Ingress of ${count} regular expressions`,
      writes: [this.#create("ingresses", name, { rules }, annotations)],
    };
  }

  /** Names of others, in every field that takes a name. */
  #claims(): HostileAct {
    const { keyPair } = this.#options;
    const name = this.#name("claim");
    const some = this.#options.victims().filter(() => this.#int(2) === 0);
    const wildcards = [...new Set(some.map((host) => `*${host.slice(host.indexOf("."))}`))];
    const hosts = this.#int(2) === 0 ? some : wildcards;
    const isCanary = this.#int(3) === 0;
    const annotations: Record<string, readonly string[]> = isCanary
      ? { canary: ["true"], "canary-weight": ["100"] }
      : { "server-alias": some, "auth-url": [`http://${some[0] ?? "nowhere.example"}/admin`] };
    const spec = {
      tls: [{ hosts: [...some, ...wildcards], secretName: name }],
      rules: [...hosts.map((host) => rule(host)), rule(`${name}.example`)],
    };
    return {
      name: `an Ingress that claims ${hosts.length} hosts of others`,
      writes: [
        this.#secret(name, {
          type: "kubernetes.io/tls",
          data: { "tls.crt": base64(keyPair.cert), "tls.key": base64(keyPair.key) },
        }),
        this.#create("ingresses", name, spec, annotations),
      ],
    };
  }

  #churn(): HostileAct {
    const paths = [...this.#existing].filter(([, kind]) => kind === "ingresses");
    const [victim] = paths[this.#int(paths.length)] ?? [];
    const count = victim === undefined ? 0 : this.#upTo(100);
    const writes = list(count, (index): ApiWrite => {
      const annotations = named({ "proxy-body-size": [`${index + 1}m`] });
      return { method: "PATCH", path: victim ?? "", body: { metadata: { annotations } } };
    });
    return { name: `${count} changes of one Ingress`, writes };
  }

  #removal(): HostileAct {
    return this.#remove(this.#options.random.next());
  }

  /** Everything that it has created. */
  removeAll(): HostileAct {
    return this.#remove(1);
  }

  #remove(share: number): HostileAct {
    const leaving = [...this.#existing.keys()].filter(() => this.#options.random.next() < share);
    for (const one of leaving) this.#existing.delete(one);
    const writes = leaving.map((one): ApiWrite => ({ method: "DELETE", path: one }));
    return { name: `${writes.length} objects removed`, writes };
  }

  #secret(name: string, fields: object): Created {
    return this.#created("secrets", name, { metadata: { name }, ...fields });
  }

  #create(
    kind: Plural,
    name: string,
    spec: object,
    annotations: Readonly<Record<string, readonly string[]>> = {},
  ): Created {
    const own = kind === "ingresses" ? { ingressClassName: ingressClass } : {};
    const metadata = { name, annotations: named(annotations) };
    return this.#created(kind, name, { metadata, spec: { ...own, ...spec } });
  }

  #created(kind: Plural, name: string, body: Created["body"]): Created {
    this.#existing.set(this.#path(kind, name), kind);
    return { method: "POST", path: this.#path(kind), body };
  }

  #path(kind: Plural, name?: string): string {
    const collection = `${kinds[kind]}/namespaces/${this.#options.namespace}/${kind}`;
    return name === undefined ? collection : `${collection}/${name}`;
  }

  #name(stem: string): string {
    this.#count += 1;
    return `${stem}-${this.#count}`;
  }

  #int(below: number): number {
    return randomInt(this.#options.random, below);
  }

  /** From 1 on, each order of magnitude as often as the others; some are as large as can be. */
  #upTo(most: number): number {
    const { random, largestShare } = this.#options;
    return random.next() < largestShare ? most : Math.round(most ** random.next());
  }
}

interface Created extends ApiWrite {
  readonly method: "POST";
  readonly body: {
    readonly metadata: { readonly name: string; readonly labels?: object };
    readonly [field: string]: unknown;
  };
}

function list<One>(count: number, make: (index: number) => One): One[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

function rule(host: string, paths: readonly object[] = [path("/")]): object {
  return { host, http: { paths } };
}

function path(text: string, service = "web", pathType = "Prefix"): object {
  return { path: text, pathType, backend: { service: { name: service, port: { number: 80 } } } };
}

/** A network of one address, another for each number. */
function networkOf(index: number): string {
  return `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}/32`;
}

function named(values: Readonly<Record<string, readonly string[]>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [`lockstep.dev/${name}`, value.join(",")]),
  );
}

/** Lists as long as they are, as far as all of them fit into an object's annotations. */
function fitting(values: Readonly<Record<string, readonly string[]>>) {
  const share = annotationBytes / Object.keys(values).length;
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const each = (value.at(-1)?.length ?? 0) + 1;
      return [name, value.slice(0, Math.floor(share / each))];
    }),
  );
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
