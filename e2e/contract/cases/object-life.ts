// For every kind: an object is made, read, changed in every way and removed, and each answer is
// compared whole, so that defaults, generations and versions are.
import type { CaseWorld, ContractCase } from "../contract-case.ts";
import { allSubjects } from "../objects/all-subjects.ts";
import {
  collectionPath,
  type JsonObject,
  minimalObject,
  objectName,
  objectPath,
  richObject,
  type Subject,
} from "../objects/subject.ts";

export const objectLifeCases: readonly ContractCase[] = allSubjects.flatMap((subject) => [
  lifeCase(subject, "the least object is created, read and deleted", leastObject),
  lifeCase(subject, "a rich object is created, read and deleted", richOne),
  lifeCase(subject, "an object is replaced", replaced),
  lifeCase(subject, "an object is patched in three ways", patched),
  lifeCase(subject, "nothing is kept of a dry run", dryRun),
  lifeCase(subject, "its status is written apart", statusWritten),
  lifeCase(subject, "what is absent or there already is refused", refused),
  lifeCase(subject, "a collection is listed and deleted", collected),
]);

function lifeCase(
  subject: Subject,
  sentence: string,
  run: (world: CaseWorld, subject: Subject) => Promise<void>,
): ContractCase {
  return {
    area: "objects",
    name: `${subject.kind}: ${sentence}`,
    async run(world) {
      if (subject.namespaced) await world.open();
      await run(world, subject);
    },
  };
}

async function leastObject({ call, name }: CaseWorld, subject: Subject): Promise<void> {
  await call("POST", collectionPath(subject, name), minimalObject(subject, name));
  await call("GET", objectPath(subject, name));
  await call("DELETE", objectPath(subject, name));
  await call("GET", objectPath(subject, name));
}

async function richOne({ call, name }: CaseWorld, subject: Subject): Promise<void> {
  await call("POST", collectionPath(subject, name), richObject(subject, name));
  await call("GET", objectPath(subject, name));
  await call("DELETE", objectPath(subject, name), {
    apiVersion: "v1",
    kind: "DeleteOptions",
    propagationPolicy: "Background",
  });
}

async function replaced({ call, name }: CaseWorld, subject: Subject): Promise<void> {
  const created = await call("POST", collectionPath(subject, name), minimalObject(subject, name));
  const path = objectPath(subject, name);
  await call("PUT", path, created.body);
  const labelled = withLabels(created.body, { app: "changed" });
  const changed = await call("PUT", path, labelled);
  await call("PUT", path, created.body);
  await call("PUT", path, withoutVersion(changed.body));
  await call("PUT", path, richObject(subject, name));
  await call("GET", path);
}

async function patched({ call, name }: CaseWorld, subject: Subject): Promise<void> {
  await call("POST", collectionPath(subject, name), minimalObject(subject, name));
  const path = objectPath(subject, name);
  await call(
    "PATCH",
    path,
    { metadata: { labels: { a: "1", b: "2" } } },
    { contentType: "application/merge-patch+json" },
  );
  await call(
    "PATCH",
    path,
    { metadata: { labels: { a: null }, annotations: { note: "x" } } },
    { contentType: "application/strategic-merge-patch+json" },
  );
  await call("PATCH", path, [{ op: "replace", path: "/metadata/labels/b", value: "3" }], {
    contentType: "application/json-patch+json",
  });
  await call("PATCH", path, {}, { contentType: "application/merge-patch+json" });
  await call(
    "PATCH",
    path,
    { metadata: { resourceVersion: "1" } },
    { contentType: "application/merge-patch+json" },
  );
}

async function dryRun({ call, name }: CaseWorld, subject: Subject): Promise<void> {
  const collection = collectionPath(subject, name);
  const path = objectPath(subject, name);
  await call("POST", `${collection}?dryRun=All`, richObject(subject, name));
  await call("GET", path);
  const created = await call("POST", collection, minimalObject(subject, name));
  await call("PUT", `${path}?dryRun=All`, withLabels(created.body, { app: "x" }));
  await call("POST", `${collection}?dryRun=All`, minimalObject(subject, name));
  await call("DELETE", `${path}?dryRun=All`);
  await call("GET", path);
  await call("POST", `${collection}?dryRun=Some`, minimalObject(subject, name));
}

async function statusWritten({ call, name }: CaseWorld, subject: Subject): Promise<void> {
  const created = await call("POST", collectionPath(subject, name), minimalObject(subject, name));
  const path = `${objectPath(subject, name)}/status`;
  await call("GET", path);
  await call("PUT", path, withLabels(created.body, { app: "status" }));
  await call(
    "PATCH",
    path,
    { metadata: { annotations: { note: "y" } } },
    { contentType: "application/merge-patch+json" },
  );
}

async function refused({ call, name }: CaseWorld, subject: Subject): Promise<void> {
  const collection = collectionPath(subject, name);
  const path = objectPath(subject, name);
  const object = minimalObject(subject, name);
  await call("DELETE", path);
  await call("PATCH", path, {}, { contentType: "application/merge-patch+json" });
  await call("POST", collection, object);
  await call("POST", collection, object);
  await call("POST", collection, { ...object, metadata: { name: "other", resourceVersion: "7" } });
  await call("PUT", path, { ...object, metadata: { name: "other" } });
  await call("PUT", path, { ...object, metadata: {} });
  const elsewhere = { name: objectName(subject, name), namespace: "elsewhere" };
  await call("PUT", path, { ...object, metadata: elsewhere });
  await call("POST", collection, { ...object, metadata: elsewhere });
  await call("PUT", path, { ...object, metadata: { name: objectName(subject, name), uid: "u-9" } });
  await call("DELETE", path, { preconditions: { uid: "u-9" } });
  await call("DELETE", path, { preconditions: { resourceVersion: "1" } });
  await call("PUT", path, { ...object, kind: "Other" });
  await call("PUT", path, { ...object, apiVersion: "example.com/v1" });
}

async function collected({ call, name }: CaseWorld, subject: Subject): Promise<void> {
  const collection = collectionPath(subject, name);
  const labels = { own: name };
  for (const end of ["a", "b", "c"]) {
    const object = minimalObject(subject, name);
    await call("POST", collection, { ...object, metadata: { name: `${name}-${end}`, labels } });
  }
  const selector = `labelSelector=own%3D${name}`;
  const first = await call("GET", `${collection}?${selector}`);
  await call("GET", `${collection}?${selector}&fieldSelector=metadata.name%3D${name}-b`);
  await call("DELETE", `${collection}?${selector}`);
  await call("GET", `${collection}?${selector}`);
  if (first.status !== 200) throw new Error(first.text);
}

function withLabels(body: unknown, labels: JsonObject): JsonObject {
  const { metadata, ...rest } = asObject(body);
  return { ...rest, metadata: { ...asObject(metadata), labels } };
}

function withoutVersion(body: unknown): JsonObject {
  const { metadata, ...rest } = asObject(body);
  const { resourceVersion: _, ...meta } = asObject(metadata);
  return { ...rest, metadata: meta };
}

function asObject(value: unknown): JsonObject {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
