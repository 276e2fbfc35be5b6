// Ingresses and TLS secrets of two business clusters that change at random, and an oracle that reads
// nothing but the objects themselves.
import type { RuleSettings } from "../../src/decide/syncing/rules/rule-settings.ts";
import { type Random, randomInt } from "../../src/environment/random.ts";
import { isRecord, listAt, type RawRecord, recordAt } from "../../src/kube/kinds/fields.ts";
import { type ClusterName, type SyncWorld, servicesPath } from "./sync-world.ts";

const ingressesPath = "/apis/networking.k8s.io/v1/namespaces/shop/ingresses";
const secretsPath = "/api/v1/namespaces/shop/secrets";

export const soakRules: RuleSettings = {
  classes: { nginx: "edge" },
  hosts: [{ from: "*.business", to: "*.example" }],
  annotations: ["nginx.ingress.kubernetes.io/"],
  tlsSecrets: [{ namespace: "shop", name: "web-tls" }],
};

const business = ["lab-1", "lab-2"] as const;
type Business = (typeof business)[number];
const names = ["web", "api", "both"] as const;

type Shown = Readonly<Record<string, string>>;

export class SoakRules {
  readonly #world: SyncWorld;
  #changes = 0;

  constructor(world: SyncWorld) {
    this.#world = world;
  }

  async prepare(): Promise<void> {
    for (const cluster of business) {
      for (const name of names) await this.#create(cluster, name);
      await this.#writeSecret(cluster, "POST");
    }
    const rules = [this.#rule("own.example", "local")];
    await this.#world.call("edge", "POST", ingressesPath, {
      metadata: { name: "local" },
      spec: { ingressClassName: "edge", tls: [{ secretName: "own-tls" }], rules },
    });
    const data = { "tls.crt": btoa("own"), "tls.key": btoa("own") };
    const type = "kubernetes.io/tls";
    await this.#world.call("edge", "POST", secretsPath, {
      metadata: { name: "own-tls" },
      type,
      data,
    });
  }

  async step(): Promise<void> {
    const cluster = business[randomInt(this.#random, 2)] ?? "lab-1";
    const name = names[randomInt(this.#random, names.length)] ?? "web";
    const isThere = (await this.#list(cluster, ingressesPath)).some((raw) => nameOf(raw) === name);
    if (!isThere) return await this.#create(cluster, name);
    const path = `${ingressesPath}/${name}`;
    switch (randomInt(this.#random, 5)) {
      case 0:
        await this.#world.call(cluster, "DELETE", path);
        return;
      case 1:
        return await this.#patch(cluster, path, { metadata: { labels: this.#label() } });
      case 2:
        return await this.#writeSecret(cluster, "PATCH");
      default:
        return await this.#patch(cluster, path, this.#content(name));
    }
  }

  /** What the access cluster has to show of copies, by kind and name. */
  async expected(): Promise<Shown> {
    const synced = await this.#syncedServices();
    const shown: Record<string, string> = {};
    for (const name of names) {
      for (const cluster of business) {
        const raw = (await this.#list(cluster, ingressesPath)).find((one) => nameOf(one) === name);
        if (raw === undefined || labelOf(raw, "lockstep.dev/sync") === "false") continue;
        const text = this.#copyText(raw, cluster, synced);
        if (text === undefined) continue;
        shown[`Ingress ${name}`] = text;
        break;
      }
    }
    // The first cluster of those that deliver it counts.
    for (const cluster of business) {
      const isUsed = Object.values(shown).some(
        (text) => text.startsWith(`${cluster} `) && text.includes('"web-tls"'),
      );
      if (!isUsed) continue;
      const [secret] = await this.#list(cluster, secretsPath);
      if (secret !== undefined) shown["Secret web-tls"] = `${cluster} ${this.#pair(secret)}`;
      break;
    }
    return shown;
  }

  async shown(): Promise<Shown> {
    const shown: Record<string, string> = {};
    for (const raw of await this.#list("edge", ingressesPath)) {
      const cluster = labelOf(raw, "lockstep.dev/source-cluster");
      if (cluster === undefined) continue;
      shown[`Ingress ${nameOf(raw)}`] = `${cluster} ${this.#text(raw)}`;
    }
    for (const raw of await this.#list("edge", secretsPath)) {
      const cluster = labelOf(raw, "lockstep.dev/source-cluster");
      if (cluster !== undefined) shown[`Secret ${nameOf(raw)}`] = `${cluster} ${this.#pair(raw)}`;
    }
    return shown;
  }

  /** All objects of these kinds in the access cluster. */
  async all(): Promise<readonly RawRecord[]> {
    return [
      ...(await this.#list("edge", ingressesPath)),
      ...(await this.#list("edge", secretsPath)),
    ];
  }

  #copyText(raw: RawRecord, cluster: Business, synced: ReadonlySet<string>): string | undefined {
    const { rules, tls, ...spec } = recordAt(raw, "spec");
    const delivered = (rules as readonly RawRecord[]).flatMap((rule) => {
      const host = String(rule["host"]);
      const paths = listAt(recordAt(rule, "http"), "paths").filter(isRecord);
      const areSynced = paths.every((path) =>
        synced.has(String(recordAt(recordAt(path, "backend"), "service")["name"])),
      );
      if (!host.endsWith(".business") || !areSynced) return [];
      return [{ ...rule, host: host.replace(".business", ".example") }];
    });
    if (delivered.length === 0) return undefined;
    const mapped = tls === undefined ? {} : { tls };
    const copy = { ...spec, ingressClassName: "edge", rules: delivered, ...mapped };
    return `${cluster} ${this.#text({ ...raw, spec: copy })}`;
  }

  #text(raw: RawRecord): string {
    const { annotations } = recordAt(raw, "metadata");
    const copied = Object.entries(isRecord(annotations) ? annotations : {}).filter(([name]) =>
      name.startsWith("nginx.ingress.kubernetes.io/"),
    );
    const { ingressClassName, rules, tls } = recordAt(raw, "spec");
    return JSON.stringify([copied, ingressClassName, rules, tls]);
  }

  #pair(raw: RawRecord): string {
    return JSON.stringify(recordAt(raw, "data"));
  }

  async #syncedServices(): Promise<ReadonlySet<string>> {
    const synced = new Set<string>();
    for (const cluster of business) {
      for (const raw of await this.#list(cluster, servicesPath)) {
        if (labelOf(raw, "lockstep.dev/sync") !== "false") synced.add(nameOf(raw));
      }
    }
    return synced;
  }

  async #create(cluster: Business, name: string): Promise<void> {
    const { metadata, spec } = this.#content(name);
    await this.#world.call(cluster, "POST", ingressesPath, {
      metadata: { name, ...metadata },
      spec,
    });
  }

  /** One rule for each of its services, a path that changes, and sometimes more. */
  #content(name: string) {
    this.#changes += 1;
    const services = name === "both" ? ["web", "pay"] : [name];
    const hosts = services.map((service) => `${name}-${service}.business`);
    if (randomInt(this.#random, 4) === 0) hosts[0] = "elsewhere.other";
    const rules = services.map((service, index) => this.#rule(hosts[index] ?? "", service));
    const isSecure = name !== "api" && randomInt(this.#random, 2) === 0;
    const annotations = {
      "nginx.ingress.kubernetes.io/affinity": randomInt(this.#random, 2) === 0 ? "cookie" : null,
      "other.example/number": String(this.#changes),
    };
    const tls = isSecure ? [{ secretName: "web-tls" }] : null;
    return { metadata: { annotations }, spec: { ingressClassName: "nginx", rules, tls } };
  }

  #rule(host: string, name: string): object {
    const path = `/${randomInt(this.#random, 3)}`;
    const backend = { service: { name, port: { number: 80 } } };
    return { host, http: { paths: [{ path, pathType: "Prefix", backend }] } };
  }

  #label(): object {
    return { "lockstep.dev/sync": randomInt(this.#random, 2) === 0 ? "false" : null };
  }

  async #writeSecret(cluster: Business, method: "POST" | "PATCH"): Promise<void> {
    this.#changes += 1;
    const pair = btoa(`${cluster} ${this.#changes}`);
    const data = { "tls.crt": pair, "tls.key": pair };
    const metadata = { name: "web-tls" };
    const body = { metadata, type: "kubernetes.io/tls", data };
    const path = method === "POST" ? secretsPath : `${secretsPath}/web-tls`;
    await this.#world.call(cluster, method, path, body);
  }

  async #patch(cluster: Business, path: string, body: object): Promise<void> {
    await this.#world.call(cluster, "PATCH", path, body);
  }

  async #list(cluster: ClusterName, path: string): Promise<readonly RawRecord[]> {
    const list = await this.#world.call(cluster, "GET", path);
    return isRecord(list) ? listAt(list, "items").filter(isRecord) : [];
  }

  get #random(): Random {
    return this.#world.simulation.random;
  }
}

function nameOf(raw: RawRecord): string {
  return String(recordAt(raw, "metadata")["name"]);
}

function labelOf(raw: RawRecord, label: string): string | undefined {
  const { labels } = recordAt(raw, "metadata");
  const value = isRecord(labels) ? labels[label] : undefined;
  return typeof value === "string" ? value : undefined;
}
