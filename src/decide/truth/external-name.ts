// ExternalName services: their endpoints are the addresses of the name. Pods and slices have
// nothing about them; the proxy's own retries skip an address that does not answer. A name that
// leads back to this machine, its link or Lockstep itself is refused: it would give every client
// access to the status listener, a node's agents, or a cloud's metadata. Addresses are checked
// after each lookup, so a name that moves there later is refused then.

import {
  type IpNetwork,
  isInNetwork,
  parseIp,
  parseNetwork,
} from "../../environment/ip-address.ts";
import type { ServiceInCluster } from "../../model/service-snapshot.ts";
import { servicePort } from "./candidates.ts";
import type { Judged } from "./judged.ts";
import type { TruthPolicy } from "./truth-policy.ts";

export const externalNameRule = "external name";

/** This machine, its link, multicast and broadcast, and other metadata addresses of clouds. */
const refusedNetworks: readonly IpNetwork[] = [
  "0.0.0.0/8",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "224.0.0.0/4",
  "255.255.255.255/32",
  "100.100.100.200/32",
  "168.63.129.16/32",
  // With `::` and `::1`, IPv4 addresses in a form that nothing uses any more.
  "::/96",
  "fe80::/10",
  "ff00::/8",
  "fd00:ec2::254/128",
  // A gateway would make IPv4 addresses of these, local ones too.
  "64:ff9b:1::/48",
  "2002::/16",
].flatMap((text) => parseNetwork(text) ?? []);

export function isExternalName({ service }: ServiceInCluster): boolean {
  return service.type === "ExternalName";
}

export function externalEndpoints(
  facts: ServiceInCluster,
  port: number | string,
  policy: TruthPolicy,
): readonly Judged[] {
  const number = externalPort(facts, port);
  if (number === undefined) return [];
  const { cluster, service, external } = facts;
  const { failure } = external ?? {};
  const name = service.externalName ?? "";
  const now = `${name} resolves to it`;
  const before = `${name} resolved to it before, now ${failure}`;
  return ofOneFamily(external?.addresses ?? []).map((address): Judged => {
    const isRefused = isRefusedAddress(address, policy);
    const reason = failure === undefined ? now : before;
    return {
      endpoint: {
        address,
        port: number,
        cluster,
        state: isRefused ? "out" : "active",
        reason: isRefused
          ? `${reason}, but local addresses are not allowed for external names`
          : reason,
        rule: externalNameRule,
        pod: "unknown",
        published: "absent",
      },
      doubt: undefined,
      candidate: undefined,
      soleWitnessAtMs: undefined,
    };
  });
}

export function externalProblems(
  facts: ServiceInCluster,
  port: number | string,
  policy: TruthPolicy,
): readonly string[] {
  const { cluster, service, external } = facts;
  const { namespace, name } = service.metadata;
  const which = `the service ${namespace}/${name} in ${cluster}`;
  const target = service.externalName ?? "";
  if (externalPort(facts, port) === undefined) return [`${which} has no port ${port}`];
  if (external === undefined)
    return [`${which} is the external name ${target}, which is not resolved yet`];
  const refused = ofOneFamily(external.addresses).filter((address) =>
    isRefusedAddress(address, policy),
  );
  const problems: string[] = [];
  if (external.failure !== undefined) {
    const kept = external.addresses.length > 0 ? "; its last addresses stay in use" : "";
    problems.push(`${which} is the external name ${target}: ${external.failure}${kept}`);
  }
  if (refused.length > 0) {
    problems.push(
      `${which} is the external name ${target}, which resolves to the local address ${refused.join(", ")}`,
    );
  }
  return problems;
}

/** Where IPv6 leads nowhere, as in most clusters, a name that has both would fail half of the time. */
function ofOneFamily(addresses: readonly string[]): readonly string[] {
  const ofIpv4 = addresses.filter((address) => !address.includes(":"));
  return ofIpv4.length > 0 ? ofIpv4 : addresses;
}

/** A number need not be among the service's ports, for an external name often has none listed. */
function externalPort({ service }: ServiceInCluster, port: number | string): number | undefined {
  const found = servicePort(service, port);
  if (found === undefined) return typeof port === "number" ? port : undefined;
  return typeof found.targetPort === "number" ? found.targetPort : found.port;
}

/** A text that is no address is refused as well. */
function isRefusedAddress(text: string, policy: TruthPolicy): boolean {
  const { allowLocalNames = false, ownAddresses = [] } = policy;
  const address = parseIp(text);
  if (address === undefined) return true;
  const own = ownAddresses.flatMap((one) => parseNetwork(one) ?? []);
  const refused = [...refusedNetworks, ...own];
  return !allowLocalNames && refused.some((network) => isInNetwork(address, network));
}
