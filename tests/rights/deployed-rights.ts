// Only for tests: the rights that deploy/rbac gives, read from its files, and what is left of them
// when one is taken away.
import { readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";
import {
  isJsonObject,
  type JsonObject,
  objectsAt,
  textAt,
  textsAt,
} from "../../src/apiserver/kinds/fields.ts";

/** One verb on one resource of one role. */
export interface Right {
  readonly role: string;
  readonly resource: string;
  readonly verb: string;
}

export const businessFiles = ["business-cluster", "export-status"];
export const accessFiles = [
  "access-cluster-ingress",
  "access-cluster-gateways",
  "access-cluster-sync",
];
export const observerFiles = ["observer"];

/** All rights that these files give. */
export function rightsIn(files: readonly string[]): readonly Right[] {
  return objectsIn(files)
    .filter((object) => textAt(object, "kind").endsWith("Role"))
    .flatMap((object) =>
      objectsAt(object, "rules").flatMap((rule) =>
        textsAt(rule, "resources").flatMap((resource) =>
          textsAt(rule, "verbs").map((verb) => ({
            role: textAt(object, "metadata", "name"),
            resource,
            verb,
          })),
        ),
      ),
    );
}

/** Each object once: two files may name the same namespace. */
export function objectsIn(files: readonly string[]): readonly JsonObject[] {
  const byKey = new Map<string, JsonObject>();
  for (const file of files) {
    const text = readFileSync(new URL(`../../deploy/rbac/${file}.yaml`, import.meta.url), "utf8");
    for (const document of parseAllDocuments(text)) {
      const object: unknown = document.toJS();
      if (!isJsonObject(object)) throw new Error(`${file} holds something that is no object`);
      const { namespace = "", name = "" } = Object(object["metadata"]);
      byKey.set(`${textAt(object, "kind")} ${namespace}/${name}`, object);
    }
  }
  return [...byKey.values()];
}

/** The object without that right, if it is the role that has it. */
export function lessened(object: JsonObject, right: Right | undefined): JsonObject {
  const isOther = right === undefined || textAt(object, "metadata", "name") !== right.role;
  if (isOther || !textAt(object, "kind").endsWith("Role")) return object;
  const rules = objectsAt(object, "rules").flatMap((rule) => {
    if (!textsAt(rule, "resources").includes(right.resource)) return [rule];
    const others = textsAt(rule, "resources").filter((one) => one !== right.resource);
    const verbs = textsAt(rule, "verbs").filter((verb) => verb !== right.verb);
    return [
      ...(others.length === 0 ? [] : [{ ...rule, resources: others }]),
      ...(verbs.length === 0 ? [] : [{ ...rule, resources: [right.resource], verbs }]),
    ];
  });
  return { ...object, rules };
}
