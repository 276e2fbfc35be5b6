// A secret as far as passwords need it: its texts, by key. Read only where a route names it. Nothing
// here ever prints a value.
import { recordAt } from "./fields.ts";
import type { Kind, ObjectMeta } from "./kind.ts";
import { objectRecord, projectMetadata } from "./metadata.ts";

export interface PasswordSecret {
  readonly metadata: ObjectMeta;
  readonly texts: ReadonlyMap<string, string>;
}

export const passwordSecretKind: Kind<PasswordSecret> = {
  group: "",
  version: "v1",
  kind: "Secret",
  resource: "secrets",
  namespaced: true,
  project: projectPasswordSecret,
};

function projectPasswordSecret(raw: unknown, similar?: PasswordSecret): PasswordSecret {
  const object = objectRecord(raw);
  const texts = new Map<string, string>();
  for (const [key, base64] of Object.entries(recordAt(object, "data"))) {
    if (typeof base64 === "string") texts.set(key, Buffer.from(base64, "base64").toString("utf8"));
  }
  return { metadata: projectMetadata(object, passwordSecretKind, similar?.metadata), texts };
}
