// Hostile strings in an object harm no other: Ingresses, services, slices and secrets with nginx
// directives, Lua, line ends, nonsense and sheer length in every field. They go through the API
// server if it takes them, and past it if not. Another namespace's answers stay byte for byte the
// same, nginx's files are not touched, and an Ingress that does not serve gets a reason.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { annotationGroups } from "../src/decide/routing/ingress/annotations.ts";
import {
  HostileWorld,
  type IngressSpec,
  ingress,
  secret,
  service,
  slice,
} from "./hostile-world.ts";
import { withoutNginx } from "./proxy-world.ts";

const texts: readonly string[] = [
  "x;\n}\nserver { listen 81; location / { return 200; } }",
  '"; } ngx.say("lua") --',
  "]] ngx.exit(444) --[[",
  "\r\nX-Evil: 1\r\n\r\n",
  "\0",
  "$document_root\u0024{http_host}$1",
  "`id`$(id)'\"\\",
  "../../../etc/passwd",
  "//kept.example/",
  "kept.example",
  "*",
  "~^/(a+)+$",
  "(".repeat(300),
  "a".repeat(65_536),
  "\u202Ekept\u0000\u{1f600}\ud800",
  "__proto__",
  "unix:/run/control.sock:/",
  "-1e999",
];

/** By its name, what puts a text into a field of an Ingress. */
const fields: Readonly<Record<string, (text: string, spec: IngressSpec) => object>> = {
  host: (text, spec) => ({ ...spec, rules: [{ ...spec.rules[0], host: text }] }),
  path: (text, spec) => withPath(spec, { path: `/${text}` }),
  bare: (text, spec) => withPath(spec, { path: text }),
  kind: (text, spec) => withPath(spec, { pathType: text }),
  service: (text, spec) => withPath(spec, { backend: { service: { name: text } } }),
  port: (text, spec) => withPath(spec, backend("echo", { name: text })),
  tls: (text, spec) => ({ ...spec, tls: [{ hosts: [text], secretName: "tls" }] }),
  secret: (text, spec) => ({ ...spec, tls: [{ secretName: text }] }),
  class: (text, spec) => ({ ...spec, ingressClassName: text }),
};

/** Any text after a slash is a path; a service's endpoints are no matter of its Ingress. */
const mayServeNothing = /^(class|path|bare|port|backend)-/;

function withPath(spec: IngressSpec, changed: object): object {
  const [{ host, http }] = spec.rules;
  const paths = http.paths.map((path) => ({ ...path, ...changed }));
  return { ...spec, rules: [{ host, http: { paths } }] };
}

function backend(name: string, port: object = { number: 80 }): object {
  return { backend: { service: { name, port } } };
}

/** Makes Ingresses, each with a host of its own. */
class Ingresses {
  readonly hosts = new Map<string, string>();
  readonly #world: HostileWorld;

  constructor(world: HostileWorld) {
    this.#world = world;
  }

  async add(what: string, spec: (own: IngressSpec) => object, annotations = {}): Promise<void> {
    const name = `${what}-${this.hosts.size}`;
    const host = `${name}.example`;
    this.hosts.set(name, host);
    await this.#world.force(ingress(name, spec(this.#world.specOf(host)), annotations));
  }

  async addAllFields(): Promise<void> {
    const names = annotationGroups.flatMap((group) => group.names);
    for (const text of texts) {
      for (const [field, change] of Object.entries(fields)) {
        await this.add(field, (spec) => change(text, spec));
      }
      const all = names.map((name) => [`nginx.ingress.kubernetes.io/${name}`, text]);
      await this.add("annotations", (spec) => spec, Object.fromEntries(all));
    }
    for (const [at, name] of names.entries()) {
      const [one, other] = [texts[at % texts.length], texts[(at + 7) % texts.length]];
      await this.add(name, (spec) => spec, { [`lockstep.dev/${name}`]: one });
      const regex = { "lockstep.dev/use-regex": "true", [`lockstep.dev/${name}`]: other };
      await this.add(name, (spec) => withPath(spec, { path: "/(.*)" }), regex);
    }
  }

  async addServices(): Promise<void> {
    for (const [at, text] of texts.entries()) {
      const [external, plain] = [`external-${at}`, `plain-${at}`];
      const annotations = { "lockstep.dev/weight": text, "lockstep.dev/spread": text };
      const port = { name: text, appProtocol: text };
      const target = { kind: "Pod", name: text, namespace: text };
      const endpoints = [
        { addresses: [text], targetRef: target },
        { addresses: ["10.0.0.1"], nodeName: text, zone: text, hostname: text },
      ];
      const ports = [{ ...port, port: 80 }];
      await this.#world.force(service(external, { type: "ExternalName", externalName: text }));
      await this.#world.force(service(plain, { ports }, annotations));
      await this.#world.force(slice(plain, plain, endpoints, port));
      for (const name of [external, plain]) {
        await this.add("backend", (spec) => withPath(spec, backend(name)));
      }
    }
  }

  /** For a name that another namespace has, and for their own. */
  async addSecrets(): Promise<void> {
    const { own, other } = this.#world;
    for (const [at, text] of texts.entries()) {
      const pairs = [
        { cert: text, key: other.key },
        { cert: `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----`, key: text },
        { cert: other.cert, key: text },
        { cert: own.cert, key: other.key },
        { cert: `${text}\n${other.cert}`.repeat(2), key: `${text}\n${other.key}${text}` },
      ];
      for (const [number, { cert, key }] of pairs.entries()) {
        const secretName = `secret-${at}-${number}`;
        await this.#world.force(secret(secretName, cert, key));
        await this.add("shown", (spec) => {
          const hosts = ["kept.example", spec.rules[0].host];
          return { ...spec, tls: [{ hosts, secretName }] };
        });
      }
    }
  }
}

/** Ages of objects are whole seconds, and the kept ones are to be the older. */
async function nextSecond(): Promise<void> {
  const now = Date.now();
  const restMs = 1_000 - (now % 1_000);
  await new Promise((resolve) => setTimeout(resolve, restMs + 10));
}

describe.skipIf(withoutNginx !== false)("hostile objects", () => {
  it(
    "harm no other tenant",
    () =>
      HostileWorld.use(async (world) => {
        const { proxy, replica } = world;
        const before = await world.fingerprint();
        await nextSecond();
        const ingresses = new Ingresses(world);
        await ingresses.addServices();
        await ingresses.addSecrets();
        await ingresses.addAllFields();
        await world.create(ingress("last", world.specOf("last.example")));
        await proxy.until(async () => (await proxy.ask("last.example")).status === 200);
        expect(world.refused).toBeGreaterThan(texts.length * Object.keys(fields).length * 0.5);

        const unexplained = async (): Promise<readonly string[]> => {
          const { problems } = replica.loop.decisions.routes;
          const explained = new Set(problems.map(({ origin }) => origin.name));
          const found: string[] = [];
          for (const [name, host] of ingresses.hosts) {
            const { status } = await proxy.ask(host);
            if (name.startsWith("shown-")) await world.shownFor(host);
            const isExplained =
              explained.has(name) || (status !== 500 && mayServeNothing.test(name));
            if (status !== 200 && !isExplained) found.push(`${name} ${status}`);
          }
          return found;
        };
        // Services and secrets arrive separately, maybe later than the last Ingress.
        await expect.poll(unexplained, { timeout: 60_000 }).toEqual([]);
        expect(await world.fingerprint()).toEqual(before);
        const errors = readFileSync(`${proxy.prefix}/logs/error.log`, "utf8")
          .split("\n")
          .filter((line) => /lua|exited|alert|emerg/.test(line) && !line.includes("RLIMIT"));
        expect(errors).toEqual([]);
      }),
    180_000,
  );
});
