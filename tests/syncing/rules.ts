// Ingresses of business clusters in few words, and an access cluster that carries out the writes of a
// plan as an API server would.

import { syncNames } from "../../src/decide/syncing/copy-names.ts";
import {
  planRules,
  type RuleOffer,
  type RulesInput,
  type RulesPlan,
} from "../../src/decide/syncing/rules/plan-rules.ts";
import type { RuleSettings } from "../../src/decide/syncing/rules/rule-settings.ts";
import { isRecord, type RawRecord, recordAt } from "../../src/kube/kinds/fields.ts";
import { type Ingress, ingressKind } from "../../src/kube/kinds/ingress.ts";
import { type Secret, secretKind, tlsSecretType } from "../../src/kube/kinds/secret.ts";
import { PretendedTarget } from "./offers.ts";

export const ruleSettings: RuleSettings = {
  classes: { nginx: "edge" },
  hosts: [],
  annotations: ["nginx.ingress.kubernetes.io/"],
  tlsSecrets: [],
};

/** `shop.example web` is a rule whose only path leads to the service web. */
export function ingress(
  name: string,
  rules: readonly string[],
  fields: { metadata?: object; spec?: object } = {},
): Ingress {
  return ingressKind.project(rawIngress(name, rules, fields));
}

export function rawIngress(
  name: string,
  rules: readonly string[],
  fields: { metadata?: object; spec?: object } = {},
): RawRecord {
  return {
    metadata: { namespace: "shop", name, uid: name, resourceVersion: "7", ...fields.metadata },
    spec: { ingressClassName: "nginx", rules: rules.map(rawRule), ...fields.spec },
  };
}

function rawRule(text: string): object {
  const [host, ...services] = text.split(" ");
  const paths = services.map((service, index) => ({
    path: index === 0 ? "/" : `/${service}`,
    pathType: "Prefix",
    backend: { service: { name: service, port: { name: "http" } } },
  }));
  return { host, http: { paths } };
}

export function tlsSecret(name: string, pair: string): Secret {
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  return secretKind.project({
    metadata: { namespace: "shop", name, uid: `${name}-uid`, resourceVersion: "7" },
    type: tlsSecretType,
    data: { "tls.crt": base64(`chain ${pair}`), "tls.key": base64(`key ${pair}`) },
  });
}

export function ruleOffer(
  cluster: string,
  ingresses: readonly Ingress[],
  secrets: readonly Secret[] = [],
): RuleOffer {
  return {
    cluster,
    isKnown: true,
    ingresses,
    secret: (name) => {
      const secret = secrets.find(({ metadata }) => metadata.name === name);
      return secret === undefined ? { kind: "absent" } : { kind: "present", secret };
    },
  };
}

export function unknownOffer(cluster: string): RuleOffer {
  return { cluster, isKnown: false, ingresses: [], secret: () => ({ kind: "unread" }) };
}

/** The access cluster, in which the named services are synced. */
export class RuleTargetModel {
  readonly #target = new PretendedTarget("shop");
  readonly synced = new Set<string>();

  constructor(...synced: readonly string[]) {
    for (const service of synced) this.synced.add(service);
  }

  /** An object of another owner, unless it has the labels of a copy. */
  put(kind: "Ingress" | "Secret", raw: RawRecord): void {
    this.#target.put(kind, "shop", String(recordAt(raw, "metadata")["name"]), raw);
  }

  plan(sources: readonly RuleOffer[], fields: Partial<RulesInput> = {}): RulesPlan {
    return planRules({
      namespace: "shop",
      sources,
      target: {
        ingresses: this.objects("Ingress").map((raw) => ingressKind.project(raw)),
        secrets: this.objects("Secret").map((raw) => secretKind.project(raw)),
        secretProblem: () => undefined,
      },
      settings: ruleSettings,
      names: syncNames,
      obstacle: (service) =>
        this.synced.has(service) ? undefined : `the Service shop/${service} is not synced`,
      isExpected: true,
      ...fields,
    });
  }

  /** Plans and writes; expects that then nothing is left. `update Ingress web: …` for each write. */
  sync(sources: readonly RuleOffer[], fields: Partial<RulesInput> = {}): readonly string[] {
    const { writes } = this.plan(sources, fields);
    for (const write of writes) this.#target.apply(write);
    const rest = this.plan(sources, fields).writes;
    if (rest.length > 0) throw new Error(`the plan is not stable: ${JSON.stringify(rest)}`);
    return writes.map(({ type, kind, name, summary }) => `${type} ${kind} ${name}: ${summary}`);
  }

  objects(kind: "Ingress" | "Secret"): readonly RawRecord[] {
    return [...this.#target.objects].flatMap(([key, raw]) =>
      key.startsWith(`${kind} `) ? [raw] : [],
    );
  }

  /** Metadata without versions, and the rest. */
  shown(kind: "Ingress" | "Secret", name: string): RawRecord | undefined {
    const raw = this.objects(kind).find((one) => recordAt(one, "metadata")["name"] === name);
    if (raw === undefined) return undefined;
    const { labels, annotations } = recordAt(raw, "metadata");
    const ofObject = ["apiVersion", "kind", "metadata"];
    const rest = Object.entries(raw).filter(([field]) => !ofObject.includes(field));
    const shown = isRecord(annotations) ? { annotations } : {};
    return { labels, ...shown, ...Object.fromEntries(rest) };
  }
}
