// The writes that deliver the Ingresses of one namespace, and their TLS secrets, to the access
// cluster. Where several business clusters have an Ingress of the same name, the first in the order of
// the sources counts. Objects of other owners are not written, and nothing is removed for a cluster
// that is not known yet.
import { counted } from "../../../environment/counted.ts";
import type { RawRecord } from "../../../kube/kinds/fields.ts";
import type { Ingress } from "../../../kube/kinds/ingress.ts";
import type { StringMap } from "../../../kube/kinds/intern.ts";
import type { Projected } from "../../../kube/kinds/kind.ts";
import { type Secret, tlsSecretType } from "../../../kube/kinds/secret.ts";
import type { KnownSecret } from "../../../sources/secret-source.ts";
import { compareText } from "../../compare-text.ts";
import {
  type CopyNames,
  isCopy,
  isOwned,
  ownedRuleLabels,
  sourceClusterOf,
} from "../copy-names.ts";
import { syncLabel } from "../service-selection.ts";
import { deletion, type SyncWrite } from "../sync-write.ts";
import {
  copiedAnnotations,
  type IngressContent,
  type IngressCopy,
  ingressCopy,
  isSameContent,
  rawSpec,
  shownContent,
} from "./ingress-copy.ts";
import { isConsented, type RuleSettings } from "./rule-settings.ts";

export interface RulesInput {
  readonly namespace: string;
  /** In the order of preference. */
  readonly sources: readonly RuleOffer[];
  readonly target: RuleTargetState;
  readonly settings: RuleSettings;
  readonly names: CopyNames;
  readonly forgottenClusters?: ReadonlySet<string>;
  /** Why the service of this name is not synced; undefined when it is. */
  readonly obstacle: (service: string) => string | undefined;
  /** Whether an Ingress without any synced service is a problem here. */
  readonly isExpected: boolean;
}

/** The Ingresses of one business cluster. */
export interface RuleOffer {
  readonly cluster: string;
  /** Whether they have been listed. */
  readonly isKnown: boolean;
  readonly ingresses: readonly Ingress[];
  readonly secret: (name: string) => KnownSecret;
}

/** Of any owner. */
export interface RuleTargetState {
  readonly ingresses: readonly Ingress[];
  readonly secrets: readonly Secret[];
  /** Why the secret cannot be read or is not known yet; undefined when it is. */
  readonly secretProblem: (name: string) => string | undefined;
}

export interface RulesPlan {
  /** In the order in which they have to be made. */
  readonly writes: readonly SyncWrite[];
  readonly problems: readonly string[];
  /** Ingresses that are delivered, or stay. */
  readonly delivered: number;
  /** By cluster, the names of secrets that have to be read. */
  readonly wantedSecrets: ReadonlyMap<string, ReadonlySet<string>>;
}

/** An Ingress of a business cluster that the access cluster is to have. */
interface Chosen {
  readonly name: string;
  readonly offer: RuleOffer;
  readonly content: IngressContent;
}

export function planRules(input: RulesInput): RulesPlan {
  const parts = new RulesPlanner(input);
  return parts.plan();
}

class RulesPlanner {
  readonly #input: RulesInput;
  readonly #problems: string[] = [];
  /** Copies of clusters that are not known: they stay, and so do their secrets. */
  readonly #kept: Ingress[] = [];

  constructor(input: RulesInput) {
    this.#input = input;
  }

  plan(): RulesPlan {
    const chosen = this.#choose();
    const ingressWrites = this.#ingressWrites(chosen);
    const wanted = this.#wantedSecrets(chosen);
    const writes = [...this.#secretWrites(wanted), ...ingressWrites];
    const wantedSecrets = new Map<string, Set<string>>();
    for (const [name, { cluster }] of wanted) {
      wantedSecrets.set(cluster, (wantedSecrets.get(cluster) ?? new Set()).add(name));
    }
    return {
      writes: writes.toSorted((a, b) => rank(a) - rank(b)),
      problems: this.#problems,
      delivered: chosen.length + this.#kept.length,
      wantedSecrets,
    };
  }

  #choose(): readonly Chosen[] {
    const { sources, target } = this.#input;
    const copies = new Map(target.ingresses.map((one) => [one.metadata.name, one]));
    const names = new Set([
      ...sources.flatMap(({ ingresses }) => ingresses.map(({ metadata }) => metadata.name)),
      ...copies.keys(),
    ]);
    return [...names].sort(compareText).flatMap((name) => this.#chooseOne(name, copies.get(name)));
  }

  #chooseOne(name: string, present: Ingress | undefined): readonly Chosen[] {
    const { sources } = this.#input;
    const holder = present && this.#isOwned(present) ? sourceClusterOf(present) : undefined;
    let chosen: Chosen | undefined;
    for (const offer of sources) {
      if (!offer.isKnown) {
        if (holder !== offer.cluster || chosen !== undefined) continue;
        if (present !== undefined) this.#kept.push(present);
        return [];
      }
      const copy = this.#copyOf(offer, name, chosen);
      if (copy?.content === undefined || chosen !== undefined) continue;
      chosen = { name, offer, content: copy.content };
    }
    if (chosen === undefined || present === undefined) return chosen === undefined ? [] : [chosen];
    const obstacle = this.#ownerProblem("Ingress", present);
    if (obstacle === undefined) return [chosen];
    this.#problems.push(`Ingress ${this.#place(name)} of ${chosen.offer.cluster}: ${obstacle}`);
    return [];
  }

  /** Notes the problems of one that counts, and that another counts in place of this one. */
  #copyOf(offer: RuleOffer, name: string, chosen: Chosen | undefined): IngressCopy | undefined {
    const ingress = offer.ingresses.find(({ metadata }) => metadata.name === name);
    if (ingress === undefined || !isOffered(ingress)) return undefined;
    const copy = ingressCopy(ingress, this.#input);
    if (copy === undefined) return undefined;
    const place = `Ingress ${this.#place(name)} of ${offer.cluster}`;
    if (chosen !== undefined) {
      if (copy.content !== undefined && !isSameContent(copy.content, chosen.content)) {
        this.#problems.push(`${place}: that of ${chosen.offer.cluster} counts, and differs`);
      }
      return undefined;
    }
    const isMeant = this.#input.isExpected || ingress.metadata.labels[syncLabel] === "true";
    if (isMeant || copy.hasSyncedService) {
      this.#problems.push(...copy.problems.map((problem) => `${place}: ${problem}`));
    }
    return copy;
  }

  #ingressWrites(chosen: readonly Chosen[]): readonly SyncWrite[] {
    const { target } = this.#input;
    const byName = new Map(target.ingresses.map((one) => [one.metadata.name, one]));
    const stay = new Set([...chosen.map(({ name }) => name), ...this.#kept.map(nameOf)]);
    return [
      ...chosen.flatMap((one) => this.#ingressWrite(one, byName.get(one.name))),
      ...target.ingresses
        .filter((one) => !stay.has(nameOf(one)) && this.#mayRemove(one))
        .map((one) => deletion("Ingress", one.metadata, this.#whyGone(one, "Ingress"))),
    ];
  }

  #ingressWrite(
    { name, offer, content }: Chosen,
    present: Ingress | undefined,
  ): readonly SyncWrite[] {
    const { names, settings, namespace } = this.#input;
    const labels = ownedRuleLabels(names, offer.cluster);
    const spec = rawSpec(content);
    const place = { kind: "Ingress", namespace, name } as const;
    if (present === undefined) {
      const { annotations } = content;
      const object = {
        apiVersion: "networking.k8s.io/v1",
        kind: "Ingress",
        metadata: { namespace, name, labels, annotations },
        spec: Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== null)),
      };
      const summary = `${counted(content.rules.length, "rule")} of ${offer.cluster}`;
      return [{ type: "create", ...place, object, summary }];
    }
    const shown = shownContent(present, settings);
    const isRight = isSameContent(shown, content) && hasLabels(present, labels);
    if (isRight) return [];
    const { resourceVersion } = present.metadata;
    const before = Object.entries(rawSpec(shown));
    const old = new Map(before.map(([field, value]) => [field, JSON.stringify(value)]));
    const changed = Object.entries(spec).filter(
      ([field, value]) => old.get(field) !== JSON.stringify(value),
    );
    const annotations = annotationChanges(copiedAnnotations(present, settings), content);
    const patch = {
      metadata: { resourceVersion, labels, annotations },
      spec: Object.fromEntries(changed),
    };
    const fields = changed.map(([field]) => field);
    if (Object.keys(annotations).length > 0) fields.push("annotations");
    const what = fields.length === 0 ? "labels" : fields.join(", ");
    const summary = `${what} of ${offer.cluster}`;
    return [{ type: "update", ...place, patch, resourceVersion, summary }];
  }

  /** The first Ingress that names a secret says from which cluster it comes. */
  #wantedSecrets(chosen: readonly Chosen[]): ReadonlyMap<string, RuleOffer> {
    const { settings, namespace, sources } = this.#input;
    const wanted = new Map<string, RuleOffer>();
    for (const source of sources) {
      for (const { offer, content } of chosen) {
        if (offer !== source) continue;
        for (const { secretName } of content.tls) {
          if (secretName === "" || wanted.has(secretName)) continue;
          if (isConsented(settings.tlsSecrets, namespace, secretName))
            wanted.set(secretName, offer);
        }
      }
    }
    return wanted;
  }

  #secretWrites(wanted: ReadonlyMap<string, RuleOffer>): readonly SyncWrite[] {
    const { target } = this.#input;
    const present = new Map(target.secrets.map((one) => [one.metadata.name, one]));
    const stay = new Set(this.#kept.flatMap(({ tls }) => tls.map(({ secretName }) => secretName)));
    const writes: SyncWrite[] = [];
    for (const [name, offer] of wanted) {
      const outcome = this.#secretWrite(name, offer, present.get(name));
      if (outcome === "gone") continue;
      stay.add(name);
      if (outcome !== "stays") writes.push(outcome);
    }
    const gone = target.secrets.filter((one) => !stay.has(nameOf(one)) && this.#mayRemove(one));
    return [
      ...writes,
      ...gone.map((one) => deletion("Secret", one.metadata, this.#whyGone(one, "Secret"))),
    ];
  }

  #secretWrite(
    name: string,
    { cluster, secret }: RuleOffer,
    present: Secret | undefined,
  ): SyncWrite | "stays" | "gone" {
    const { namespace, names, target } = this.#input;
    const place = `Secret ${this.#place(name)} of ${cluster}`;
    const known = secret(name);
    const unread = target.secretProblem(name);
    if (known.kind === "refused") this.#problems.push(`${place}: ${known.detail}`);
    if (unread !== undefined) this.#problems.push(`${place}: ${unread}`);
    if (known.kind === "unread" || known.kind === "refused" || unread !== undefined) return "stays";
    const held = known.kind === "present" ? known.secret : undefined;
    if (held === undefined || held.chain === "" || held.key === "" || isCopy(held)) {
      this.#problems.push(`${place}: ${cluster} has no Secret of this name and type with a pair`);
      return "gone";
    }
    if (present !== undefined) {
      const obstacle = this.#ownerProblem("Secret", present);
      if (obstacle !== undefined) {
        this.#problems.push(`${place}: ${obstacle}`);
        return "stays";
      }
    }
    const labels = ownedRuleLabels(names, cluster);
    const data = { "tls.crt": base64(held.chain), "tls.key": base64(held.key) };
    const at = { kind: "Secret", namespace, name, summary: `TLS secret of ${cluster}` } as const;
    if (present === undefined) {
      const metadata = { namespace, name, labels };
      const object = { apiVersion: "v1", kind: "Secret", metadata, type: tlsSecretType, data };
      return { type: "create", ...at, object };
    }
    const isSame = present.chain === held.chain && present.key === held.key;
    if (isSame && hasLabels(present, labels)) return "stays";
    const { resourceVersion } = present.metadata;
    const patch = { metadata: { resourceVersion, labels }, data };
    return { type: "update", ...at, patch, resourceVersion };
  }

  /** Own, and of a cluster that says so: it is known, or is forgotten. */
  #mayRemove(object: Projected): boolean {
    const { sources, forgottenClusters } = this.#input;
    if (!this.#isOwned(object)) return false;
    const cluster = sourceClusterOf(object) ?? "";
    if (forgottenClusters?.has(cluster) === true) return true;
    return sources.some((one) => one.cluster === cluster && one.isKnown);
  }

  #whyGone(object: Projected, kind: "Ingress" | "Secret"): string {
    const cluster = sourceClusterOf(object) ?? "";
    if (this.#input.forgottenClusters?.has(cluster) === true) return `${cluster} is forgotten`;
    return kind === "Secret"
      ? `no delivered Ingress of ${cluster} uses it`
      : `${cluster} does not have it with a synced service any more`;
  }

  /** Why it cannot be written; undefined when it can. */
  #ownerProblem(kind: "Ingress" | "Secret", object: Projected): string | undefined {
    const { sources, forgottenClusters } = this.#input;
    const place = this.#place(nameOf(object));
    if (!this.#isOwned(object)) return `${kind} ${place} exists and was not created by Lockstep`;
    const cluster = sourceClusterOf(object) ?? "";
    const isOurs = sources.some((one) => one.cluster === cluster);
    if (isOurs || forgottenClusters?.has(cluster) === true) return undefined;
    return `${kind} ${place} is a copy of ${cluster}, which another sync writes`;
  }

  #isOwned(object: Projected): boolean {
    return isOwned(this.#input.names, object);
  }

  #place(name: string): string {
    return `${this.#input.namespace}/${name}`;
  }
}

function isOffered(ingress: Ingress): boolean {
  const { labels, deletionTimestamp } = ingress.metadata;
  return !isCopy(ingress) && labels[syncLabel] !== "false" && deletionTimestamp === undefined;
}

function annotationChanges(before: StringMap, { annotations }: IngressContent): RawRecord {
  const changes: Record<string, string | null> = {};
  for (const name of Object.keys(before)) if (annotations[name] === undefined) changes[name] = null;
  for (const [name, value] of Object.entries(annotations)) {
    if (before[name] !== value) changes[name] = value;
  }
  return changes;
}

function hasLabels({ metadata }: Projected, labels: StringMap): boolean {
  return Object.entries(labels).every(([label, value]) => metadata.labels[label] === value);
}

/** A secret is there before its Ingress, and goes after it. */
function rank({ type, kind }: SyncWrite): number {
  if (type === "delete") return kind === "Secret" ? 3 : 2;
  return kind === "Secret" ? 0 : 1;
}

function nameOf({ metadata }: Projected): string {
  return metadata.name;
}

function base64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}
