// One request as the verbs see it. A verb takes the server (`Backend`), the context of the request
// and its target. The context is made in one place, http/resource-handler.ts.
import type { KubeObject } from "../kube-object.ts";

export interface RequestContext {
  /** Everything is checked and answered, nothing is stored. */
  readonly dryRun: boolean;
  /**
   * The `managedFields` of the object after this write. `object` is as the client wants it,
   * with defaults and nothing carried over; `current` is undefined for a new object.
   */
  managedFieldsAfter(
    object: KubeObject,
    current: KubeObject | undefined,
  ): readonly unknown[] | undefined;
  /** Throws 403 if the user may not write this. `current` is undefined for a new object. */
  admit(object: KubeObject, current: KubeObject | undefined): void;
  /** Throws 403 if the user may not create the object that a PUT or an apply finds absent. */
  authorizeCreate(): void;
}

/** For writes of the server itself: all are admitted, and owners of fields stay as they are. */
export const serverContext: RequestContext = {
  dryRun: false,
  managedFieldsAfter: (_, current) => current?.metadata.managedFields,
  admit: allow,
  authorizeCreate: allow,
};

/** The check of a context without restrictions. */
export function allow(): void {
  // Everything passes.
}
