// Texts of a report with all names and addresses replaced, the same ones alike, so that a report can be
// shown to others. Names are those that the evidence has: of objects, of subjects of log messages, of
// files. Words of Kubernetes and of the causes stay.
import { isIP } from "node:net";
import { Anonymizer } from "../../recording/anonymizer.ts";
import { allCauses, type Diagnosis } from "../diagnose.ts";
import type { Evidence } from "../evidence/evidence.ts";
import { provisions } from "../sources.ts";

/** A name, an address or a word. */
const token = /[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?/g;
const ipv6 = /(?<![\w.:])[0-9a-f:]*:[0-9a-f:]*:[0-9a-f:.]*(?![\w.:])/gi;

/** Shorter names would be parts of sentences; they say little. */
const nameLengthMin = 3;

/** Words that messages, paths and objects share in all clusters. */
const keptWords = new Set(
  (
    "default kubernetes system node kube-system kube-node-lease kube-public serviceaccount api apis " +
    "namespaces endpoints endpointslices services pods nodes leases configmaps ingresses status list " +
    "watch get put post patch timeout discovery.k8s.io coordination.k8s.io networking.k8s.io v1 v1beta1 " +
    "http https master leader service pod list watch kube-apiserver kube-controller-manager " +
    "kube-scheduler kube-proxy kubelet etcd apiserver endpoint-controller metrics logs objects flags " +
    "txt log json yaml yml gz prom standard input connection refused resource version"
  ).split(" "),
);
for (const { name } of allCauses) keptWords.add(name);
for (const text of provisions) {
  for (const [word] of text.matchAll(token)) keptWords.add(word.toLowerCase());
}

export class AnonymousTexts {
  readonly #anonymizer: Anonymizer;
  readonly #names = new Set<string>();

  /** By the same key the same names become the same. It is not to be stored. */
  constructor(key: string, given: { readonly evidence: Evidence; readonly diagnosis: Diagnosis }) {
    this.#anonymizer = new Anonymizer(key);
    for (const text of textsWithNames(given.evidence)) this.addNames(text);
    for (const { evidence } of given.diagnosis.findings) {
      for (const { source } of evidence) this.addNames(source);
    }
  }

  /** All names in a text that has no sentences: a path, a key, a URL. */
  addNames(text: string): void {
    for (const [found] of text.matchAll(token)) {
      for (const name of [found, ...found.split(".")]) {
        const isName = name.length >= nameLengthMin && /[A-Za-z]/.test(name);
        if (isName && !keptWords.has(name.toLowerCase())) this.#names.add(name);
      }
    }
  }

  of(text: string): string {
    const addressed = text.replaceAll(ipv6, (found) => this.#address(found));
    return addressed.replaceAll(token, (found) => {
      if (isIP(found) !== 0) return this.#address(found);
      if (this.#names.has(found)) return this.#anonymizer.name(found);
      const parts = found.split(".");
      return parts
        .map((part) => (this.#names.has(part) ? this.#anonymizer.name(part) : part))
        .join(".");
    });
  }

  #address(found: string): string {
    return isIP(found) === 0 ? found : this.#anonymizer.name(found);
  }
}

function* textsWithNames({ objects, signs, journeys, metrics }: Evidence): Generator<string> {
  yield* objects.pods.keys();
  yield* objects.services.keys();
  yield* objects.endpoints.keys();
  yield* objects.ingresses.keys();
  yield* objects.nodes.keys();
  yield* objects.listedPods.keys();
  yield* objects.runningContainers.keys();
  yield* objects.observed.heartbeats.keys();
  yield* objects.audit.writers.keys();
  yield* objects.audit.nodes.keys();
  yield* objects.audit.locks.keys();
  for (const { lock, holder } of objects.leaders) yield `${lock} ${holder}`;
  for (const { name, labels } of objects.labelled) {
    yield name.replace(/^\S+ /, "");
    yield* Object.values(labels);
  }
  for (const { subjects, samples, longest } of signs.all) {
    yield* subjects.keys();
    for (const { detail } of [...samples, ...(longest === undefined ? [] : [longest])]) {
      for (const [, quoted = ""] of detail.matchAll(/["']([^"']+)["']/g)) yield quoted;
      yield* detail.match(/\S+[/:]\S+/g) ?? [];
    }
  }
  for (const { source } of metrics) yield source;
  yield journeys?.source ?? "";
  for (const { endpoint, podName, hops } of journeys?.journeys ?? []) {
    yield `${endpoint.cluster} ${endpoint.service} ${podName ?? ""}`;
    for (const { witness } of hops) yield witness;
  }
}
