// What an API server says of a text that is no IP address and no network.
import { parseNetwork } from "../../environment/ip-address.ts";

export const invalidIpMessage = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

export const invalidCidrMessage = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

/** An address and how many of its leading bits count, written without leading zeros. */
export function isCidr(text: string): boolean {
  return /\/(0|[1-9]\d*)$/.test(text) && parseNetwork(text) !== undefined;
}
