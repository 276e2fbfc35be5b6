// An address as people write it, and as the status of an Ingress holds it: an IP or a host name.
import type { LoadBalancerAddress } from "../../kube/kinds/ingress.ts";

/** An IPv6 address has a colon, which no host name has; an IPv4 address is four numbers. */
export function loadBalancerAddress(text: string): LoadBalancerAddress {
  const isIp = text.includes(":") || ipv4.test(text);
  return isIp ? { ip: text, hostname: "" } : { ip: "", hostname: text };
}

/** Whether it can be an address at all; what else is wrong with it the API server will say. */
export function isLoadBalancerAddress(text: string): boolean {
  return ipv6.test(text) || ipv4.test(text) || hostName.test(text);
}

const ipv4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/;

const ipv6 = /^(?=.*:)[0-9a-fA-F:]{2,39}$/;

/** A label that is all digits comes from a mistyped address rather than from a name. */
const hostName =
  /^(?=.{1,253}$)(?=.*[a-z])[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
