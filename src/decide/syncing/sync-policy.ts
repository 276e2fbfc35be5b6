// One form of copying, as a value: which services, under which names, by which rules of truth, and
// the objects that it may create or remove in the target.
import type { TruthPolicy } from "../truth/truth-policy.ts";
import { type CopyNames, syncNames } from "./copy-names.ts";
import type { CopyForm } from "./plan-endpoints.ts";
import type { ImportForm } from "./plan-import.ts";
import {
  NamespaceSelection,
  type SelectedNamespaces,
  type ServiceSelection,
} from "./service-selection.ts";

export interface SyncPolicy {
  readonly selection: ServiceSelection;
  readonly names: CopyNames;
  readonly truth: TruthPolicy;
  /** How endpoints are written; by what the access cluster has when absent. */
  readonly copyAs?: CopyForm;
  /** Endpoints that flap wait before they join again; false when absent. */
  readonly damping?: boolean;
  /** How exported services are imported; not at all when absent. */
  readonly imports?: ImportForm;
  /** Whether a namespace that the access cluster lacks may be made there. */
  readonly createNamespaces: boolean;
  /**
   * Clusters whose copies are removed, because they are synced no longer; none when absent. That a
   * cluster is not among the sources is not enough: another Lockstep may sync it.
   */
  readonly forgottenClusters?: ReadonlySet<string>;
}

/** Every service of these namespaces and those that ask for it by label, under their own names. */
export function namespacePolicy(
  namespaces: SelectedNamespaces,
  fields: Partial<SyncPolicy> = {},
): SyncPolicy {
  return {
    selection: new NamespaceSelection(namespaces),
    names: syncNames,
    truth: { followSlices: false },
    createNamespaces: false,
    ...fields,
  };
}
