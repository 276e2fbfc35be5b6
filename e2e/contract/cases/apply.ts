// Server-side apply: the owner of each field, the conflicts of a second owner, and removed fields.
import type { CaseWorld, ContractCase } from "../contract-case.ts";
import { allSubjects } from "../objects/all-subjects.ts";
import {
  collectionPath,
  minimalObject,
  objectPath,
  richObject,
  type Subject,
} from "../objects/subject.ts";

const applyPatch = { contentType: "application/apply-patch+yaml" };

export const applyCases: readonly ContractCase[] = allSubjects.flatMap((subject) => [
  applyCase(subject, "is made by apply and applied again", applied),
  applyCase(subject, "is applied over what another made", overlaid),
]);

function applyCase(
  subject: Subject,
  sentence: string,
  run: (world: CaseWorld, subject: Subject) => Promise<void>,
): ContractCase {
  return {
    area: "apply",
    name: `${subject.kind} ${sentence}`,
    async run(world) {
      if (subject.namespaced) await world.open();
      await run(world, subject);
    },
  };
}

async function applied({ call, name }: CaseWorld, subject: Subject): Promise<void> {
  const path = objectPath(subject, name);
  const rich = richObject(subject, name);
  await call("PATCH", path, rich, applyPatch);
  await call("PATCH", `${path}?fieldManager=one`, rich, applyPatch);
  await call("PATCH", `${path}?fieldManager=one`, rich, applyPatch);
  await call("PATCH", `${path}?fieldManager=two`, relabelled(rich, "other"), applyPatch);
  await call("PATCH", `${path}?fieldManager=two&force=true`, relabelled(rich, "other"), applyPatch);
  await call("PATCH", `${path}?fieldManager=one`, minimalObject(subject, name), applyPatch);
  await call(
    "PATCH",
    `${path}?fieldManager=two&dryRun=All`,
    minimalObject(subject, name),
    applyPatch,
  );
}

async function overlaid({ call, name }: CaseWorld, subject: Subject): Promise<void> {
  const path = objectPath(subject, name);
  const minimal = minimalObject(subject, name);
  await call("POST", collectionPath(subject, name), minimal);
  await call("PATCH", `${path}?fieldManager=one`, relabelled(minimal, "one"), applyPatch);
  await call("PUT", `${path}?fieldManager=two`, relabelled(minimal, "two"));
  await call("PATCH", `${path}?fieldManager=one`, relabelled(minimal, "one"), applyPatch);
  await call("GET", path);
}

function relabelled(object: Record<string, unknown>, app: string): object {
  return { ...object, metadata: { ...(object["metadata"] as object), labels: { app } } };
}
