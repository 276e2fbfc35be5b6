// The address of each Gateway, where the proxy has some that Gateways do not share. The one in its status
// stays its own, so that every replica finds the same one without a memory of its own. Pure.
import { addressesInStatus, type Gateway } from "../../../kube/kinds/gateway.ts";

/**
 * By Gateway, in their order, the address it has for itself: what its spec asks for, else the one it has,
 * else the first that is free. A Gateway that finds none is absent.
 */
export function gatewayAddresses(
  gateways: readonly Gateway[],
  pool: readonly string[],
): ReadonlyMap<Gateway, string> {
  const found = new Map<Gateway, string>();
  if (pool.length === 0) return found;
  const free = new Set(pool);
  const give = (gateway: Gateway, candidates: Iterable<string>): void => {
    if (found.has(gateway)) return;
    const address = [...candidates].find((one) => free.has(one));
    if (address === undefined) return;
    free.delete(address);
    found.set(gateway, address);
  };
  for (const gateway of gateways) give(gateway, askedAddresses(gateway));
  const others = gateways.filter((gateway) => askedAddresses(gateway).length === 0);
  for (const gateway of others) give(gateway, addressesInStatus(gateway));
  for (const gateway of others) give(gateway, free);
  return found;
}

/** An empty value leaves the choice to the controller. */
export function askedAddresses({ addresses }: Pick<Gateway, "addresses">): readonly string[] {
  return addresses.map(({ value }) => value).filter((value) => value !== "");
}
