// Annotations that belong together and are read together. To support another one, name it in a
// group, or add a group to the table in annotations.ts.
import type { AnnotationReader } from "./annotation-reader.ts";
import type { IngressSettings } from "./ingress-settings.ts";

export interface AnnotationGroup {
  /** All that it reads, without their prefix. */
  readonly names: readonly string[];
  /** Asked only for an Ingress that has one of them. Parts of the policy are put together. */
  read(annotations: AnnotationReader): Partial<IngressSettings>;
}

/** The fields that are present; an absent one must not be undefined either. */
export function present<Fields extends object>(fields: Fields): Present<Fields> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Present<Fields>;
}

type Present<Fields> = { readonly [Key in keyof Fields]?: Exclude<Fields[Key], undefined> };
