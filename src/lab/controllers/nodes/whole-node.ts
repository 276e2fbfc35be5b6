// A node kept whole, for the controller that writes its conditions back, with the few parts that
// others look at.
import { isRecord, listAt, type RawRecord, recordAt } from "../../../kube/kinds/fields.ts";
import type { Kind } from "../../../kube/kinds/kind.ts";
import { objectRecord } from "../../../kube/kinds/metadata.ts";
import { type Node, nodeKind } from "../../../kube/kinds/node.ts";

export interface WholeNode extends Node {
  readonly raw: RawRecord;
}

export const wholeNodeKind: Kind<WholeNode> = {
  ...nodeKind,
  project: (raw, similar) => ({ ...nodeKind.project(raw, similar), raw: objectRecord(raw) }),
};

/** As the node's status has them. */
export function conditionsOf({ raw }: WholeNode): readonly RawRecord[] {
  return listAt(recordAt(raw, "status"), "conditions").filter(isRecord);
}

/**
 * The failure domain a node is in, by its labels; empty for nodes that name none
 * (component-helpers node/topology GetZoneKey).
 */
export function zoneOf({ metadata: { labels } }: WholeNode): string {
  const part = (name: string): string =>
    labels[`topology.kubernetes.io/${name}`] ??
    labels[`failure-domain.beta.kubernetes.io/${name}`] ??
    "";
  const [region, zone] = [part("region"), part("zone")];
  return region === "" && zone === "" ? "" : `${region}:\0:${zone}`;
}
