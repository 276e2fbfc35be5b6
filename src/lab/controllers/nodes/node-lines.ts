// What the node controllers and the pod collector log, as facts: which verbosity they need and where
// they say they come from. `node-words.ts` has the words.

import type { Klog } from "../../../components/klog.ts";
import type { WallMs } from "../../../environment/clock.ts";
import type { RawRecord } from "../../../kube/kinds/fields.ts";
import type { NodeLineStyle } from "./node-line-style.ts";
import { sentence, structuredLine } from "./node-words.ts";

export type NodeFact =
  | { readonly type: "nodeAdded"; readonly node: string }
  | { readonly type: "nodeDeleted"; readonly node: string }
  | { readonly type: "firstSeen"; readonly node: string }
  | { readonly type: "firstStatus"; readonly node: string }
  | { readonly type: "newZone"; readonly zone: string }
  | {
      readonly type: "missed";
      readonly node: string;
      readonly silentMs: number;
      /** As it was found. */
      readonly condition: RawRecord;
    }
  | { readonly type: "neverUpdated"; readonly node: string; readonly condition: string }
  | { readonly type: "nodeEvent"; readonly node: string; readonly event: string }
  | { readonly type: "statusChange"; readonly node: string; readonly status: string }
  | { readonly type: "unreadyPods"; readonly node: string }
  | { readonly type: "unreadyPod"; readonly pod: PodName }
  | { readonly type: "allLost" }
  | { readonly type: "someBack" }
  | { readonly type: "zoneState"; readonly zone: string; readonly state: string }
  | {
      readonly type: "toTaint";
      readonly node: string;
      readonly status: string;
      readonly at: WallMs;
    }
  | { readonly type: "healthyAgain"; readonly node: string }
  | { readonly type: "evicting"; readonly pod: PodName }
  | { readonly type: "forceDeleting"; readonly pod: PodName }
  | { readonly type: "orphaned"; readonly pod: PodName; readonly node: string }
  | { readonly type: "orphanGone"; readonly pod: PodName }
  | { readonly type: "unscheduled"; readonly pod: PodName }
  | { readonly type: "unscheduledGone"; readonly pod: PodName };

export interface PodName {
  readonly namespace: string;
  readonly name: string;
}

export interface NodeLogOptions {
  readonly klog: Klog;
  /** Of the process. */
  readonly verbosity: number;
  readonly style: NodeLineStyle;
}

export class NodeLog {
  readonly #options: NodeLogOptions;

  constructor(options: NodeLogOptions) {
    this.#options = options;
  }

  note(fact: NodeFact): void {
    const { klog, verbosity, style } = this.#options;
    if (verbosity < verbosityOf(fact, style)) return;
    const text = style.logs === "sentences" ? sentence(fact, style) : structuredLine(fact);
    const isWarning = fact.type === "firstSeen" && style.logs === "sentences";
    klog.write(isWarning ? "W" : "I", sourceOf(fact, style), text);
  }
}

function verbosityOf({ type }: NodeFact, style: NodeLineStyle): number {
  switch (type) {
    case "missed":
      return style.missedVerbosity;
    case "nodeAdded":
    case "nodeDeleted":
    case "firstStatus":
      return 1;
    case "firstSeen":
    case "newZone":
    case "allLost":
    case "someBack":
    case "zoneState":
    case "evicting":
    case "forceDeleting":
    case "orphanGone":
    case "unscheduledGone":
      return 0;
    default:
      return 2;
  }
}

/** The line of Ready is another than that of the other conditions where its words are. */
function sourceOf(fact: NodeFact, { sources }: NodeLineStyle): string {
  const isReady = fact.type === "missed" && fact.condition["type"] === "Ready";
  return (isReady ? sources.missedReady : undefined) ?? sources[fact.type];
}
