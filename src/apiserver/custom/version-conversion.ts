// Objects of a kind with several versions are stored in one of them and shown in the one asked for.
// The strategy None changes nothing but the version they name; each version's schema then prunes
// and defaults them, also those that were written when the schema was another.
import { isDeepStrictEqual } from "node:util";
import { copyJson } from "../kinds/fields.ts";
import type { KubeObject } from "../kube-object.ts";
import type { StoredForm } from "../listwatch/encoded-object.ts";
import { conformTo } from "./conform-object.ts";
import { applyDefaults } from "./defaulting.ts";
import { type DefinitionVersion, groupOf, versionsOf } from "./definition.ts";
import { type JsonSchema, readSchema } from "./json-schema.ts";

export function storedFormOf(
  definition: KubeObject,
  version: DefinitionVersion,
  schema: JsonSchema,
): StoredForm {
  const group = groupOf(definition);
  const storage = versionsOf(definition).find((one) => one.isStorage) ?? version;
  const isStored = storage.name === version.name;
  const storageSchema = isStored ? schema : readSchema(storage.schema ?? {});
  return {
    fromStorage(stored) {
      const shown = inVersion(stored, `${group}/${version.name}`, schema);
      applyDefaults(shown, schema);
      return isDeepStrictEqual(shown, stored) ? stored : shown;
    },
    toStorage(object) {
      return isStored ? object : inVersion(object, `${group}/${storage.name}`, storageSchema);
    },
  };
}

function inVersion(object: KubeObject, apiVersion: string, schema: JsonSchema): KubeObject {
  const { value } = conformTo(schema, object);
  return { ...copyJson(value), apiVersion, kind: object.kind, metadata: object.metadata };
}
