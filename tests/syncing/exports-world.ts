// Exports of two clusters that change at random: they come and go, and their Services differ in every
// property that has to be one for all. The oracle reads nothing but the objects themselves, and merges
// them by the words of KEP-1645.
import { randomInt } from "../../src/environment/random.ts";
import { isRecord, listAt, type RawRecord, recordAt } from "../../src/kube/kinds/fields.ts";
import {
  exportService,
  installExports,
  installImports,
  multiclusterPath,
} from "./multicluster-definitions.ts";
import { type ClusterName, type SyncWorld, servicesPath, slicesPath } from "./sync-world.ts";

const business = ["lab-1", "lab-2"] as const;
type Business = (typeof business)[number];
const names = ["web", "api"] as const;

const exportsPath = `${multiclusterPath}/serviceexports`;
const importsPath = `${multiclusterPath}/serviceimports`;

const portChoices = [
  [{ name: "http", port: 80 }],
  [
    { name: "http", port: 80 },
    { name: "admin", port: 81 },
  ],
  [{ name: "http", port: 8080 }],
  [
    { name: "other", port: 80 },
    { name: "admin", port: 82 },
  ],
  [{ name: "http", port: 80, appProtocol: "http" }],
  [
    { name: "dns", port: 53, protocol: "UDP" },
    { name: "dns-tcp", port: 53 },
  ],
  [{ port: 80 }],
] as const;

const affinityChoices = [
  { sessionAffinity: "None", sessionAffinityConfig: null },
  { sessionAffinity: "ClientIP", sessionAffinityConfig: { clientIP: { timeoutSeconds: 10 } } },
  { sessionAffinity: "ClientIP", sessionAffinityConfig: { clientIP: { timeoutSeconds: 20 } } },
] as const;

const trafficChoices = [
  { internalTrafficPolicy: "Cluster", trafficDistribution: null },
  { internalTrafficPolicy: "Local", trafficDistribution: "PreferClose" },
] as const;

const exportChoices = [
  { exportedLabels: null, exportedAnnotations: null },
  { exportedLabels: { team: "pay", tier: null }, exportedAnnotations: { note: "first" } },
  { exportedLabels: { team: "shop", tier: "one" }, exportedAnnotations: null },
] as const;

interface Exporting {
  readonly cluster: Business;
  readonly service: RawRecord;
  readonly serviceExport: RawRecord;
}

export class ExportsWorld {
  readonly #world: SyncWorld;
  readonly #target: ClusterName;

  constructor(world: SyncWorld, target: ClusterName) {
    this.#world = world;
    this.#target = target;
  }

  async prepare(): Promise<void> {
    for (const cluster of business) await installExports(this.#world, cluster);
    await installImports(this.#world, this.#target);
    await this.#world.simulation.sleep(5_000);
    for (const cluster of business) {
      for (const [index, name] of names.entries()) {
        await this.#world.publish(cluster, name, [
          `10.${business.indexOf(cluster) + 1}.0.${index}`,
        ]);
      }
    }
  }

  async step(): Promise<void> {
    const cluster = this.#pick(business);
    const name = this.#pick(names);
    const patch = async (spec: object) =>
      await this.#try(() =>
        this.#world.call(cluster, "PATCH", `${servicesPath}/${name}`, { spec }),
      );
    switch (randomInt(this.#world.simulation.random, 8)) {
      case 0:
        return await this.#try(() => this.#world.call(cluster, "DELETE", `${exportsPath}/${name}`));
      case 1:
      case 2:
        return await this.#try(() =>
          exportService(this.#world, cluster, name, this.#pick(exportChoices)),
        );
      case 3:
        return await patch({ ports: this.#pick(portChoices) });
      case 4:
        return await patch(this.#pick(affinityChoices));
      case 5:
        return await patch(this.#pick(trafficChoices));
      case 6:
        return await this.#try(() =>
          this.#world.call(cluster, "PATCH", `${exportsPath}/${name}`, {
            spec: this.#pick(exportChoices),
          }),
        );
      default:
        return await this.#replace(cluster, name);
    }
  }

  async unexportAll(): Promise<void> {
    for (const cluster of business) {
      for (const raw of await this.#list(cluster, exportsPath)) {
        await this.#world.call(cluster, "DELETE", `${exportsPath}/${nameOf(raw)}`);
      }
    }
  }

  /** By service, the import that the target has to have. */
  async expectedImports(): Promise<Readonly<Record<string, object>>> {
    const imports: Record<string, object> = {};
    for (const name of names) {
      const exporting = await this.#exporting(name);
      const [oldest] = exporting;
      if (oldest === undefined) continue;
      const spec = recordAt(oldest.service, "spec");
      const exported = recordAt(oldest.serviceExport, "spec");
      const isHeadless = spec["clusterIP"] === "None";
      const timeout = recordAt(recordAt(spec, "sessionAffinityConfig"), "clientIP");
      imports[name] = {
        type: isHeadless ? "Headless" : "ClusterSetIP",
        ports: unionOfPorts(exporting),
        sessionAffinity: spec["sessionAffinity"],
        timeout: spec["sessionAffinity"] === "ClientIP" ? timeout["timeoutSeconds"] : undefined,
        internalTrafficPolicy: spec["internalTrafficPolicy"] ?? "Cluster",
        trafficDistribution: spec["trafficDistribution"],
        labels: exported["exportedLabels"] ?? {},
        annotations: exported["exportedAnnotations"] ?? {},
        clusters: exporting.map(({ cluster }) => cluster).sort(),
      };
    }
    return imports;
  }

  async shownImports(): Promise<Readonly<Record<string, object>>> {
    const imports = (await this.#list(this.#target, importsPath)).map((raw) => {
      const spec = recordAt(raw, "spec");
      const { labels, annotations } = recordAt(raw, "metadata");
      const timeout = recordAt(recordAt(spec, "sessionAffinityConfig"), "clientIP");
      const clusters = listAt(recordAt(raw, "status"), "clusters").filter(isRecord);
      const shown = {
        type: spec["type"],
        ports: listAt(spec, "ports").filter(isRecord).map(portText),
        sessionAffinity: spec["sessionAffinity"],
        timeout: timeout["timeoutSeconds"],
        internalTrafficPolicy: spec["internalTrafficPolicy"],
        trafficDistribution: spec["trafficDistribution"],
        labels: withoutOwn(labels),
        annotations: withoutOwn(annotations),
        clusters: clusters.map(({ cluster }) => cluster),
      };
      return [nameOf(raw), shown] as const;
    });
    return Object.fromEntries(imports);
  }

  /** By import, the addresses it shows and those that its derived Service has. */
  async addresses(): Promise<readonly { shown: unknown; held: unknown }[]> {
    const services = await this.#list(this.#target, servicesPath);
    return (await this.#list(this.#target, importsPath)).map((raw) => {
      const service = services.find((one) => nameOf(one) === `${nameOf(raw)}-clusterset`);
      const held = service === undefined ? [] : listAt(recordAt(service, "spec"), "clusterIPs");
      const shown = listAt(recordAt(raw, "spec"), "ips");
      return { shown, held: held.filter((one) => one !== "None") };
    });
  }

  /** By export, its conditions. */
  async expectedConditions(): Promise<Readonly<Record<string, object>>> {
    const conditions: Record<string, object> = {};
    for (const cluster of business) {
      for (const raw of await this.#list(cluster, exportsPath)) {
        const name = nameOf(raw);
        const exporting = await this.#exporting(name);
        const isExporting = exporting.some((one) => one.cluster === cluster);
        const conflicts = isExporting ? conflictsOf(exporting) : [];
        conditions[`${cluster} ${name}`] = {
          Valid: isExporting ? "True Valid" : "False NoService",
          Ready: isExporting ? "True Exported" : "False Failed",
          Conflict: conflicts.length > 0 ? `True ${conflicts.join(",")}` : "False NoConflicts",
        };
      }
    }
    return conditions;
  }

  async shownConditions(): Promise<Readonly<Record<string, object>>> {
    const shown: Record<string, object> = {};
    for (const cluster of business) {
      for (const raw of await this.#list(cluster, exportsPath)) {
        const conditions = listAt(recordAt(raw, "status"), "conditions").filter(isRecord);
        const texts = conditions.map((one) => [one["type"], `${one["status"]} ${one["reason"]}`]);
        shown[`${cluster} ${nameOf(raw)}`] = Object.fromEntries(texts);
      }
    }
    return shown;
  }

  /** Objects in the target that Lockstep made. */
  async owned(): Promise<readonly string[]> {
    const owned: string[] = [];
    for (const path of [servicesPath, slicesPath, importsPath]) {
      for (const raw of await this.#list(this.#target, path)) {
        if (JSON.stringify(raw).includes('managed-by":"lockstep.dev"')) owned.push(nameOf(raw));
      }
    }
    return owned;
  }

  async #exporting(name: string): Promise<readonly Exporting[]> {
    const found: Exporting[] = [];
    for (const cluster of business) {
      const isMeant = (raw: RawRecord) => nameOf(raw) === name;
      const service = (await this.#list(cluster, servicesPath)).find(isMeant);
      const serviceExport = (await this.#list(cluster, exportsPath)).find(isMeant);
      if (service !== undefined && serviceExport !== undefined) {
        found.push({ cluster, service, serviceExport });
      }
    }
    const ageOf = ({ cluster, serviceExport }: Exporting) =>
      `${recordAt(serviceExport, "metadata")["creationTimestamp"]} ${cluster}`;
    return found.sort((one, other) => (ageOf(one) < ageOf(other) ? -1 : 1));
  }

  /** Headless or not, or none at all: an address cannot be taken from a Service. */
  async #replace(cluster: Business, name: string): Promise<void> {
    const { random } = this.#world.simulation;
    await this.#try(() => this.#world.call(cluster, "DELETE", `${servicesPath}/${name}`));
    if (randomInt(random, 4) === 0) return;
    const headless = randomInt(random, 2) === 0 ? { clusterIP: "None" } : {};
    const spec = { selector: { app: name }, ports: this.#pick(portChoices), ...headless };
    await this.#try(() =>
      this.#world.call(cluster, "POST", servicesPath, { metadata: { name }, spec }),
    );
  }

  /** A server with faults may refuse a person too, and a Service may not be there. */
  async #try(request: () => Promise<unknown>): Promise<void> {
    await request().catch(() => undefined);
  }

  async #list(cluster: ClusterName, path: string): Promise<readonly RawRecord[]> {
    const list = await this.#world.call(cluster, "GET", path);
    return isRecord(list) ? listAt(list, "items").filter(isRecord) : [];
  }

  #pick<T>(choices: readonly T[]): T {
    return choices[randomInt(this.#world.simulation.random, choices.length)] as T;
  }
}

/** First by name, then by number and protocol; the oldest export's ports come first. */
function unionOfPorts(exporting: readonly Exporting[]): readonly string[] {
  const taken: RawRecord[] = [];
  for (const { service } of exporting) {
    for (const port of listAt(recordAt(service, "spec"), "ports").filter(isRecord)) {
      const hasName = taken.some((one) => one["name"] === port["name"]);
      const hasNumber = taken.some(
        (one) => one["port"] === port["port"] && one["protocol"] === port["protocol"],
      );
      // Among several ports the API server accepts none without a name.
      const isAlone = taken.length === 0;
      const isNamed = port["name"] !== undefined && taken.every((one) => one["name"] !== undefined);
      if (isAlone || (!hasName && !hasNumber && isNamed)) taken.push(port);
    }
  }
  return taken.map(portText);
}

function conflictsOf(exporting: readonly Exporting[]): readonly string[] {
  const differs = (value: (spec: RawRecord, one: Exporting) => unknown) => {
    const texts = exporting.map((one) => JSON.stringify(value(recordAt(one.service, "spec"), one)));
    return texts.some((text) => text !== texts[0]);
  };
  const isHeadless = (spec: RawRecord) => spec["clusterIP"] === "None";
  const timeout = (spec: RawRecord) =>
    spec["sessionAffinity"] === "ClientIP" ? spec["sessionAffinityConfig"] : null;
  const hasAddress = exporting[0] && !isHeadless(recordAt(exporting[0].service, "spec"));
  const reasons: [string, boolean][] = [
    [
      "PortConflict",
      differs((spec) => listAt(spec, "ports").filter(isRecord).map(portText).sort()),
    ],
    ["TypeConflict", differs(isHeadless)],
    ["SessionAffinityConflict", hasAddress === true && differs((spec) => spec["sessionAffinity"])],
    ["SessionAffinityConfigConflict", hasAddress === true && differs(timeout)],
    [
      "InternalTrafficPolicyConflict",
      hasAddress === true && differs((spec) => spec["internalTrafficPolicy"] ?? "Cluster"),
    ],
    ["TrafficDistributionConflict", differs((spec) => spec["trafficDistribution"] ?? null)],
    ["IPFamilyConflict", differs((spec) => spec["ipFamilies"])],
    ["LabelsConflict", differs((_, one) => exportedOf(one, "exportedLabels"))],
    ["AnnotationsConflict", differs((_, one) => exportedOf(one, "exportedAnnotations"))],
  ];
  return reasons.filter(([, is]) => is).map(([reason]) => reason);
}

function exportedOf({ serviceExport }: Exporting, field: string): unknown {
  const map = recordAt(recordAt(serviceExport, "spec"), field);
  return Object.entries(map).sort(([one], [other]) => (one < other ? -1 : 1));
}

function portText({ name, port, protocol, appProtocol }: RawRecord): string {
  return JSON.stringify([name, port, protocol, appProtocol]);
}

function withoutOwn(map: unknown): object {
  const entries = Object.entries(isRecord(map) ? map : {});
  return Object.fromEntries(entries.filter(([key]) => !key.includes("/")));
}

function nameOf(raw: RawRecord): string {
  return String(recordAt(raw, "metadata")["name"]);
}
