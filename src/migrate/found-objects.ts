// The objects of a cluster, or of files, that decide how Ingresses are served. Each object is read on
// its own: a malformed one is reported and harms no other.
import {
  isRecord,
  MalformedObjectError,
  optionalString,
  type RawRecord,
  recordAt,
  stringMapAt,
} from "../kube/kinds/fields.ts";
import { type Ingress, ingressKind } from "../kube/kinds/ingress.ts";
import { type IngressClass, ingressClassKind } from "../kube/kinds/ingress-class.ts";
import type { StringMap } from "../kube/kinds/intern.ts";
import { objectKey } from "../kube/kinds/kind.ts";
import { type PasswordSecret, passwordSecretKind } from "../kube/kinds/password-secret.ts";
import { type Secret, secretKind, tlsSecretType } from "../kube/kinds/secret.ts";
import { type Service, serviceKind } from "../kube/kinds/service.ts";
import type { KnownSecret } from "../sources/secret-source.ts";
import { type IngressNginx, ingressNginxOf } from "./ingress-nginx.ts";

export interface ConfigMap {
  readonly namespace: string;
  readonly name: string;
  readonly labels: StringMap;
  readonly data: StringMap;
}

export type FoundKind = "services" | "secrets" | "configMaps" | "ingressClasses";

/** Objects without a namespace in a file are of this one, as for kubectl. */
export const namespaceWithout = "default";

/** Each is listed in the report; with more the input is of another kind. */
const maxProblems = 100;

/** More than any cluster has; the lists of a larger input would not fit into memory. */
export const maxObjects = 200_000;

export class FoundObjects {
  readonly ingresses = new Map<string, Ingress>();
  readonly classes: IngressClass[] = [];
  readonly services = new Map<string, Service>();
  readonly configMaps = new Map<string, ConfigMap>();
  readonly controllers: IngressNginx[] = [];
  readonly #secrets = new Map<string, RawRecord | { readonly refused: string } | undefined>();
  readonly #listed = new Set<FoundKind>();
  readonly problems: string[] = [];
  #moreProblems = 0;
  #objects = 0;

  /** Every object of this kind was read, so an absent one does not exist. */
  sawAll(kind: FoundKind): void {
    this.#listed.add(kind);
  }

  isListed(kind: FoundKind): boolean {
    return this.#listed.has(kind);
  }

  get moreProblems(): number {
    return this.#moreProblems;
  }

  get objects(): number {
    return this.#objects;
  }

  addProblem(text: string): void {
    if (this.problems.length < maxProblems) this.problems.push(text);
    else this.#moreProblems += 1;
  }

  /** An object or a list of objects; `kindOfList` is for the items of typed lists, which have no kind. */
  add(value: unknown, where: string, kindOfList?: string): void {
    if (!isRecord(value)) return;
    const kind = typeof value["kind"] === "string" ? value["kind"] : (kindOfList ?? "");
    const items = value["items"];
    if (Array.isArray(items)) {
      const kindOfItems = kind.endsWith("List") ? kind.slice(0, -"List".length) : undefined;
      // A list within a list is none that kubectl writes.
      for (const item of items) {
        if (isRecord(item) && !Array.isArray(item["items"]))
          this.#addObject(item, where, kindOfItems);
      }
      return;
    }
    this.#addObject(value, where, kind);
  }

  /** The secret cannot be read, for this reason. */
  refuseSecret(key: string, refused: string): void {
    this.#secrets.set(key, { refused });
  }

  /** The secret was asked for and does not exist. */
  missSecret(key: string): void {
    this.#secrets.set(key, undefined);
  }

  isSecretRefused(key: string): boolean {
    const raw = this.#secrets.get(key);
    return raw !== undefined && isRefusal(raw);
  }

  /** The type of a secret; undefined where none is known. */
  typeOfSecret(key: string): string | undefined {
    const raw = this.#secrets.get(key);
    return raw === undefined || isRefusal(raw) ? undefined : (optionalString(raw, "type") ?? "");
  }

  tlsSecret(key: string): KnownSecret {
    const raw = this.#secrets.get(key);
    if (raw === undefined) return this.#unknownSecret(key);
    if (isRefusal(raw)) return { kind: "unread" };
    const secret: Secret = secretKind.project(raw);
    return secret.type === tlsSecretType ? { kind: "present", secret } : { kind: "absent" };
  }

  passwordSecret(key: string): KnownSecret<PasswordSecret> {
    const raw = this.#secrets.get(key);
    if (raw === undefined) return this.#unknownSecret(key);
    if (isRefusal(raw)) return { kind: "unread" };
    return { kind: "present", secret: passwordSecretKind.project(raw) };
  }

  #unknownSecret(key: string): { readonly kind: "absent" | "unread" } {
    return { kind: this.#secrets.has(key) || this.isListed("secrets") ? "absent" : "unread" };
  }

  #addObject(given: RawRecord, where: string, kindOfList: string | undefined): void {
    const kind = typeof given["kind"] === "string" ? given["kind"] : (kindOfList ?? "");
    this.#objects += 1;
    if (this.#objects > maxObjects) {
      if (this.#objects === maxObjects + 1) {
        this.addProblem(`${where}: more than ${maxObjects} objects, the rest is not read`);
      }
      return;
    }
    try {
      this.#take(kind, withMetadata(given, kind));
    } catch (error) {
      if (!(error instanceof MalformedObjectError)) throw error;
      this.addProblem(`${where}: ${kind} ${nameIn(given)} is malformed: ${error.message}`);
    }
  }

  #take(kind: string, raw: RawRecord): void {
    switch (kind) {
      case "Ingress":
        this.#takeIngress(raw);
        return;
      case "IngressClass":
        this.classes.push(ingressClassKind.project(raw));
        this.sawAll("ingressClasses");
        return;
      case "Service": {
        const service = serviceKind.project(raw);
        this.services.set(objectKey(service.metadata), service);
        this.sawAll("services");
        return;
      }
      case "Secret": {
        // Both projections must work; neither keeps what it does not need.
        const { metadata } = secretKind.project(withStringData(raw));
        this.#secrets.set(objectKey(metadata), withStringData(raw));
        this.sawAll("secrets");
        return;
      }
      case "ConfigMap": {
        const found = configMapOf(raw);
        this.configMaps.set(`${found.namespace}/${found.name}`, found);
        this.sawAll("configMaps");
        return;
      }
      case "Deployment":
      case "DaemonSet":
      case "Pod": {
        const controller = ingressNginxOf(kind, raw);
        if (controller !== undefined) this.controllers.push(controller);
        return;
      }
      default:
        return;
    }
  }

  #takeIngress(raw: RawRecord): void {
    const version = optionalString(raw, "apiVersion") ?? "networking.k8s.io/v1";
    if (version !== "networking.k8s.io/v1") {
      throw new MalformedObjectError(
        `apiVersion ${version} is not served since Kubernetes 1.22; convert it to networking.k8s.io/v1`,
      );
    }
    const ingress = ingressKind.project(raw);
    this.ingresses.set(objectKey(ingress.metadata), ingress);
  }
}

function isRefusal(
  value: RawRecord | { readonly refused: string },
): value is { readonly refused: string } {
  return "refused" in value;
}

function configMapOf(raw: RawRecord): ConfigMap {
  const metadata = recordAt(raw, "metadata");
  return {
    namespace: optionalString(metadata, "namespace") ?? "",
    name: optionalString(metadata, "name") ?? "",
    labels: stringMapAt(metadata, "labels"),
    data: stringMapAt(raw, "data"),
  };
}

const clusterKinds: ReadonlySet<string> = new Set(["IngressClass"]);

/** Files leave out what a cluster fills in. */
function withMetadata(raw: RawRecord, kind: string): RawRecord {
  const metadata = recordAt(raw, "metadata");
  const namespace = clusterKinds.has(kind) ? "" : namespaceWithout;
  // A projection refuses an object without them; nothing here reads them.
  const filled = { namespace, uid: "none", resourceVersion: "0" };
  const given = Object.entries(metadata).filter(([, value]) => value !== null && value !== "");
  return { ...raw, metadata: { ...filled, ...Object.fromEntries(given) } };
}

/** `stringData` is written by people; an API server turns it into `data`. */
function withStringData(raw: RawRecord): RawRecord {
  const texts = stringMapAt(raw, "stringData");
  const encoded = Object.entries(texts).map(([key, text]) => [
    key,
    Buffer.from(text).toString("base64"),
  ]);
  return { ...raw, data: { ...recordAt(raw, "data"), ...Object.fromEntries(encoded) } };
}

function nameIn(raw: RawRecord): string {
  const metadata = isRecord(raw["metadata"]) ? raw["metadata"] : {};
  const [namespace, name] = [metadata["namespace"], metadata["name"]];
  return `${typeof namespace === "string" ? `${namespace}/` : ""}${typeof name === "string" ? name : "without a name"}`;
}
