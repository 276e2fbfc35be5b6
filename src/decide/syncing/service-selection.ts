// The services that are copied. The caller says which; the owner of a service can decide with a label
// on it where the caller lets it. Copies and names for other hosts are never copied.
import type { Service } from "../../kube/kinds/service.ts";
import { isCopy } from "./copy-names.ts";

export interface ServiceSelection {
  isSelected(service: Service, cluster: string): boolean;
  /**
   * Whether a service is unselected perhaps by mistake, so that its copies stay. The caller has the
   * services looked at again when that ends.
   */
  isDoubtful?(service: Service, cluster: string): boolean;
  /** Called with each service that a cluster shows. True when others have to be looked at again. */
  see?(service: Service, cluster: string): boolean;
}

/** On a Service in a business cluster: `true` has it synced, `false` has it left alone. */
export const syncLabel = "lockstep.dev/sync";

/** Whether it can be copied at all. Copying copies would send endpoints in circles. */
export function isCopyable(service: Service): boolean {
  return !isCopy(service) && service.type !== "ExternalName";
}

/** Where every service with a selector is synced, unless its label says no. */
export type SelectedNamespaces = "all" | ReadonlySet<string>;

export function isInNamespaces(service: Service, namespaces: SelectedNamespaces): boolean {
  const wish = service.metadata.labels[syncLabel];
  if (wish === "true") return true;
  if (wish === "false" || service.selector === undefined) return false;
  return namespaces === "all" || namespaces.has(service.metadata.namespace);
}

/** By named namespaces; one of them without any service may be misspelt. */
export class NamespaceSelection implements ServiceSelection {
  readonly namespaces: SelectedNamespaces;
  readonly #unseen: Set<string>;

  constructor(namespaces: SelectedNamespaces) {
    this.namespaces = namespaces;
    this.#unseen = new Set(namespaces === "all" ? [] : namespaces);
  }

  /** Those in which no business cluster has shown a service yet: each name may be misspelt. */
  get unseen(): ReadonlySet<string> {
    return this.#unseen;
  }

  isSelected(service: Service): boolean {
    return isCopyable(service) && isInNamespaces(service, this.namespaces);
  }

  /** Not selected, but it would be if one of the unseen namespaces were meant to be its own. */
  isDoubtful(service: Service): boolean {
    if (this.#unseen.size === 0 || this.isSelected(service)) return false;
    return isCopyable(service) && isInNamespaces(service, "all");
  }

  /** A namespace that has a service is spelt right. True when no name is in doubt any more. */
  see({ metadata }: Service): boolean {
    return this.#unseen.delete(metadata.namespace) && this.#unseen.size === 0;
  }
}
