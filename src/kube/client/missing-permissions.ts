// Reports each permission that an API server refuses: once, with its effect. Refusals of all clients of a
// cluster come here, also those of functions that go on without the permission.
import type { Log } from "../../environment/log.ts";
import type { StatusError } from "./client.ts";

/** The effect of a missing permission, by `RESOURCE` or, for one verb only, by `VERB RESOURCE`. */
export type PermissionEffects = Readonly<Record<string, string>>;

export interface MissingPermission {
  readonly verb: string;
  /** With its subresource: `ingresses/status`. */
  readonly resource: string;
  /** Undefined if it is missing in the whole cluster. */
  readonly namespace: string | undefined;
}

/** Namespaces of tenants are many; a role that lacks a permission in so many is wrong everywhere. */
const reportsMax = 100;

/** The sentence of Kubernetes' authorizer, which every version has. */
const refusal =
  /cannot (\w+) resource "([^"]+)"(?: in API group "[^"]*")?(?: in the namespace "([^"]+)")?/;

export function missingPermission(message: string): MissingPermission | undefined {
  const [, verb, resource, namespace] = refusal.exec(message) ?? [];
  return verb === undefined || resource === undefined ? undefined : { verb, resource, namespace };
}

export class MissingPermissions {
  readonly #options: { readonly log: Log; readonly effects: PermissionEffects };
  readonly #reported = new Set<string>();

  constructor(options: { readonly log: Log; readonly effects: PermissionEffects }) {
    this.#options = options;
  }

  note(cluster: string, error: StatusError): void {
    const missing = missingPermission(error.message);
    if (missing === undefined) return;
    const { verb, resource, namespace } = missing;
    const key = `${cluster} ${verb} ${resource} ${namespace ?? ""}`;
    if (this.#reported.has(key) || this.#reported.size >= reportsMax) return;
    this.#reported.add(key);
    this.#options.log.warn(`missing permission: ${verb} ${resource}`, {
      cluster,
      ...(namespace !== undefined && { namespace }),
      effect: this.#effectOf(missing),
    });
  }

  #effectOf({ verb, resource, namespace }: MissingPermission): string {
    const { effects } = this.#options;
    const ofNamespace = namespace === undefined ? [] : [`namespaced ${verb} ${resource}`];
    const names = [...ofNamespace, `${verb} ${resource}`, resource];
    return names.map((name) => effects[name]).find((one) => one !== undefined) ?? "not known";
  }
}
