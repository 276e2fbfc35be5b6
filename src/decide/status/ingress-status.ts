// The desired status of Ingresses: the addresses of the ingress, for every Ingress of our classes
// and for no other. An Ingress that leaves our classes keeps its status: its new controller writes
// its own. Pure.
import type { Ingress, LoadBalancerAddress } from "../../kube/kinds/ingress.ts";
import type { IngressClass } from "../../kube/kinds/ingress-class.ts";
import { compareText } from "../compare-text.ts";
import { ingressFilter } from "../routing/ingress-class-filter.ts";

export interface StatusRule {
  readonly classes: readonly IngressClass[];
  /** As for routing: the class that is ours even without an IngressClass of this name. */
  readonly className: string;
  /** At least one: to say that an Ingress can be reached nowhere is never right. */
  readonly addresses: readonly LoadBalancerAddress[];
}

export interface StatusWrite {
  readonly namespace: string;
  readonly name: string;
  /** The version that the decision was made from. */
  readonly resourceVersion: string;
  /** In a fixed order, each once. */
  readonly addresses: readonly LoadBalancerAddress[];
}

/** Undefined when the Ingress is not ours or its status is right as it is. */
export function statusWrite(ingress: Ingress, rule: StatusRule): StatusWrite | undefined {
  const { classes, className, addresses } = rule;
  if (addresses.length === 0 || !ingressFilter(classes, className)(ingress)) return undefined;
  const wanted = inOrder(addresses);
  if (isSame(inOrder(ingress.loadBalancer), wanted)) return undefined;
  const { namespace, name, resourceVersion } = ingress.metadata;
  return { namespace, name, resourceVersion, addresses: wanted };
}

function inOrder(addresses: readonly LoadBalancerAddress[]): readonly LoadBalancerAddress[] {
  const byText = new Map(addresses.map((address) => [textOf(address), address]));
  return [...byText.keys()].sort(compareText).flatMap((text) => byText.get(text) ?? []);
}

function isSame(
  left: readonly LoadBalancerAddress[],
  right: readonly LoadBalancerAddress[],
): boolean {
  return left.map(textOf).join() === right.map(textOf).join();
}

function textOf({ ip, hostname }: LoadBalancerAddress): string {
  return `${hostname} ${ip}`;
}
