// Other forms of an answer: Tables with their columns, metadata alone, YAML, and both in watches.
import type { CaseWorld, ContractCase } from "../contract-case.ts";
import { allSubjects } from "../objects/all-subjects.ts";
import {
  collectionPath,
  minimalObject,
  objectPath,
  richObject,
  type Subject,
} from "../objects/subject.ts";

const table = "application/json;as=Table;v=v1;g=meta.k8s.io";
const partial = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const partialList = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

export const formCases: readonly ContractCase[] = allSubjects.flatMap((subject) => [
  formCase(subject, "as a Table", asTable),
  formCase(subject, "as metadata alone", asMetadata),
  formCase(subject, "in a watch as a Table", watchedTable),
]);

function formCase(
  subject: Subject,
  sentence: string,
  run: (world: CaseWorld, subject: Subject) => Promise<void>,
): ContractCase {
  return {
    area: "forms of answers",
    name: `${subject.kind} ${sentence}`,
    async run(world) {
      if (subject.namespaced) await world.open();
      await run(world, subject);
    },
  };
}

function accepting(accept: string): { headers: Record<string, string> } {
  return { headers: { accept } };
}

/** The objects of this case alone, also among those of the cluster. */
function own({ name }: CaseWorld, subject: Subject): string {
  const query = `fieldSelector=metadata.name%3D${subject.namespaced ? "thing" : name}`;
  return `${collectionPath(subject, name)}?${query}`;
}

async function asTable(world: CaseWorld, subject: Subject): Promise<void> {
  const { call, name } = world;
  await call("POST", collectionPath(subject, name), minimalObject(subject, name));
  await call("GET", own(world, subject), undefined, accepting(table));
  await call("GET", objectPath(subject, name), undefined, accepting(table));
  await call("DELETE", objectPath(subject, name));
  await call("POST", collectionPath(subject, name), richObject(subject, name), accepting(table));
  const whole = `${own(world, subject)}&includeObject=Object`;
  await call("GET", whole, undefined, accepting(`${table},application/json`));
  await call("GET", `${own(world, subject)}&includeObject=None`, undefined, accepting(table));
  await call("GET", `${own(world, subject)}&includeObject=All`, undefined, accepting(table));
}

async function asMetadata(world: CaseWorld, subject: Subject): Promise<void> {
  const { call, name } = world;
  await call("POST", collectionPath(subject, name), richObject(subject, name));
  await call("GET", objectPath(subject, name), undefined, accepting(partial));
  await call("GET", own(world, subject), undefined, accepting(partialList));
  await call("GET", own(world, subject), undefined, accepting(partial));
  await call("GET", objectPath(subject, name), undefined, accepting("application/json;as=Other"));
}

async function watchedTable(world: CaseWorld, subject: Subject): Promise<void> {
  const { call, name, watch } = world;
  await call("POST", collectionPath(subject, name), minimalObject(subject, name));
  await watch(`${own(world, subject)}&watch=1`, { ...accepting(table), events: 1 });
  await watch(`${own(world, subject)}&watch=1`, { ...accepting(partial), events: 1 });
}
