// Annotations that belong together and are read together. To support another one, name it in a
// group, or add a group to the table in annotations.ts.
import type { AnnotationReader } from "./annotation-reader.ts";
import type { IngressSettings } from "./ingress-settings.ts";

export interface AnnotationGroup {
  /** All that it reads, without their prefix. */
  readonly names: readonly string[];
  /**
   * By name of an annotation, its other effect in ingress-nginx. Without an entry both have the same
   * effect. Only for reports (`lockstep migrate`): no route depends on it.
   */
  readonly differences?: Readonly<Record<string, string | DifferenceOf>>;
  /** Asked only for an Ingress that has one of them. Parts of the policy are put together. */
  read(annotations: AnnotationReader): Partial<IngressSettings>;
}

/** Undefined where this value has the same effect in both. */
export type DifferenceOf = (use: AnnotationInUse) => string | undefined;

/** One annotation of an Ingress that ingress-nginx serves. */
export interface AnnotationInUse {
  readonly value: string;
  /** Whether the Ingress has this annotation too. */
  readonly has: (name: string) => boolean;
  /** A setting of the controller's ConfigMap; undefined where it is not set or not known. */
  readonly setting: (name: string) => string | undefined;
}

/** The difference depends on the hosts and paths of all Ingresses: src/migrate/nginx-locations.ts. */
export const seenInRoutes: DifferenceOf = () => undefined;

/** A value that has another effect is among the problems of the Ingress. */
export const seenInProblems: DifferenceOf = () => undefined;

/** Everything that works in ingress-nginx works here too. */
export const onlyMoreRoom: DifferenceOf = () => undefined;

/** The fields that are present; an absent one must not be undefined either. */
export function present<Fields extends object>(fields: Fields): Present<Fields> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Present<Fields>;
}

type Present<Fields> = { readonly [Key in keyof Fields]?: Exclude<Fields[Key], undefined> };
