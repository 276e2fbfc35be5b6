// The services that are copied. The caller says which; the owner of a service can decide with a label
// on it where the caller lets it. Copies and names for other hosts are never copied.
import type { StringMap } from "../../kube/kinds/intern.ts";
import type { Service } from "../../kube/kinds/service.ts";
import { selects } from "../../sources/service-pods.ts";
import { isCopy } from "./copy-names.ts";

export interface ServiceSelection {
  /** Whether ServiceExports are to be watched; false when absent. */
  readonly needsExports?: boolean;
  isSelected(service: Service, cluster: string, isExported: boolean): boolean;
  /** Whether all services of the namespace are selected, as far as they do not refuse. */
  covers?(namespace: string): boolean;
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

/** Labels and values that a Service must have, all of them. */
export type LabelSelection = StringMap;

export interface SelectionOptions {
  readonly labels?: LabelSelection;
  /** Services with a ServiceExport are selected too, or these alone. */
  readonly exports?: boolean | "only";
}

/** By named namespaces and labels; a namespace without any service may be misspelt. */
export class NamespaceSelection implements ServiceSelection {
  readonly namespaces: SelectedNamespaces;
  readonly #labels: LabelSelection;
  readonly #unseen: Set<string>;
  readonly #exportsOnly: boolean;

  readonly needsExports: boolean;

  /** Labels select in all namespaces where none is named. */
  constructor(
    namespaces: SelectedNamespaces,
    { labels = {}, exports = false }: SelectionOptions = {},
  ) {
    this.needsExports = exports !== false;
    this.#exportsOnly = exports === "only";
    const isOpen = namespaces !== "all" && namespaces.size === 0 && Object.keys(labels).length > 0;
    this.namespaces = isOpen ? "all" : namespaces;
    this.#labels = labels;
    this.#unseen = new Set(this.namespaces === "all" ? [] : this.namespaces);
  }

  /** Those in which no business cluster has shown a service yet: each name may be misspelt. */
  get unseen(): ReadonlySet<string> {
    return this.#unseen;
  }

  isSelected(service: Service, _cluster = "", isExported = false): boolean {
    if (this.needsExports && isExported && isCopyable(service)) return true;
    return this.#isWanted(service, this.namespaces);
  }

  covers(namespace: string): boolean {
    const isAll = this.namespaces === "all" || this.namespaces.has(namespace);
    return isAll && Object.keys(this.#labels).length === 0;
  }

  /** Not selected, but it would be if one of the unseen namespaces were meant to be its own. */
  isDoubtful(service: Service): boolean {
    if (this.#unseen.size === 0 || this.isSelected(service)) return false;
    return this.#isWanted(service, "all");
  }

  /** A namespace that has a service is spelt right. True when no name is in doubt any more. */
  see({ metadata }: Service): boolean {
    return this.#unseen.delete(metadata.namespace) && this.#unseen.size === 0;
  }

  #isWanted(service: Service, namespaces: SelectedNamespaces): boolean {
    if (this.#exportsOnly) return false;
    const { namespace, labels } = service.metadata;
    const wish = labels[syncLabel];
    if (!isCopyable(service) || wish === "false") return false;
    if (wish === "true") return true;
    if (service.selector === undefined || !selects(this.#labels, labels)) return false;
    return namespaces === "all" || namespaces.has(namespace);
  }
}
