// An address as people write it, and as the status of an Ingress holds it: an IP or a host name.
import { isIp } from "../../environment/ip-address.ts";
import type { LoadBalancerAddress } from "../../kube/kinds/ingress.ts";

export function loadBalancerAddress(text: string): LoadBalancerAddress {
  return isIp(text) ? { ip: text, hostname: "" } : { ip: "", hostname: text };
}

/** Whether it can be an address at all; the API server reports other errors. */
export function isLoadBalancerAddress(text: string): boolean {
  return isIp(text) || hostName.test(text);
}

/** A label that is all digits comes from a mistyped address rather than from a name. */
const hostName =
  /^(?=.{1,253}$)(?=.*[a-z])[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
