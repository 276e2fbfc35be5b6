// The facts about a kind that the generated cases need: where its objects live and two valid ones, the
// least that is accepted and one that uses every field worth a rule.

export type JsonObject = Record<string, unknown>;

export interface Subject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly resource: string;
  readonly namespaced: boolean;
  /** Without kind, apiVersion and metadata, which are added. */
  readonly minimal: JsonObject;
  readonly rich: JsonObject;
  /** Labels and the like, beside the name. */
  readonly metadata?: JsonObject;
}

/** The collection; `namespace` is left out for kinds of the cluster. */
export function collectionPath({ apiVersion, resource, namespaced }: Subject, ns: string): string {
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return namespaced ? `${root}/namespaces/${ns}/${resource}` : `${root}/${resource}`;
}

/** The name of a case's one object; kinds of the cluster share no namespace and need their own. */
export function objectName(subject: Subject, ns: string): string {
  return subject.namespaced ? "thing" : ns;
}

export function objectPath(subject: Subject, ns: string): string {
  return `${collectionPath(subject, ns)}/${objectName(subject, ns)}`;
}

export function minimalObject(subject: Subject, ns: string): JsonObject {
  const { apiVersion, kind, minimal, metadata = {} } = subject;
  const name = objectName(subject, ns);
  return placed({ apiVersion, kind, metadata: { name, ...metadata }, ...minimal }, ns);
}

export function richObject(subject: Subject, ns: string): JsonObject {
  const { apiVersion, kind, rich, metadata = {} } = subject;
  const name = objectName(subject, ns);
  const labels = { app: "shop", "example.com/tier": "front" };
  const annotations = { "example.com/note": "any text, even Ünïcode" };
  return placed(
    { apiVersion, kind, metadata: { name, labels, annotations, ...metadata }, ...rich },
    ns,
  );
}

/** A copy in which NAMESPACE is the namespace: events name the one they are in. */
function placed(object: JsonObject, ns: string): JsonObject {
  return JSON.parse(JSON.stringify(object).replaceAll('"NAMESPACE"', JSON.stringify(ns)));
}
