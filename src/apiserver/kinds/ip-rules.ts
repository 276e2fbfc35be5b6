// Messages and rules about IP addresses and networks in fields.
import { isIpv6, parseNetwork } from "../../environment/ip-address.ts";
import type { FieldErrors } from "./field-errors.ts";

export const invalidIpMessage = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

export const invalidCidrMessage = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

/** An address and how many of its leading bits count, written without leading zeros. */
export function isCidr(text: string): boolean {
  return /\/(0|[1-9]\d*)$/.test(text) && parseNetwork(text) !== undefined;
}

interface EndpointIpOptions {
  /** The lab's pods live on loopback addresses, which a real server refuses. */
  readonly mayBeLoopback?: boolean;
}

/** An endpoint must be one machine: no unspecified, loopback, link-local or multicast address. */
export function validateEndpointIp(
  field: string,
  address: string,
  errors: FieldErrors,
  { mayBeLoopback = false }: EndpointIpOptions = {},
): void {
  const { isUnspecified, isLoopback, isLinkLocal, isLinkLocalMulticast } = classify(address);
  if (isUnspecified) {
    errors.invalid(field, address, `may not be unspecified (${address})`);
  }
  if (isLoopback && !mayBeLoopback) {
    errors.invalid(field, address, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
  }
  if (isLinkLocal) {
    const detail = "may not be in the link-local range (169.254.0.0/16, fe80::/10)";
    errors.invalid(field, address, detail);
  }
  if (isLinkLocalMulticast) {
    const detail = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)";
    errors.invalid(field, address, detail);
  }
}

function classify(address: string): {
  readonly isUnspecified: boolean;
  readonly isLoopback: boolean;
  readonly isLinkLocal: boolean;
  readonly isLinkLocalMulticast: boolean;
} {
  const text = address.toLowerCase();
  if (!isIpv6(text)) {
    return {
      isUnspecified: text === "0.0.0.0",
      isLoopback: text.startsWith("127."),
      isLinkLocal: text.startsWith("169.254."),
      isLinkLocalMulticast: text.startsWith("224.0.0."),
    };
  }
  return {
    isUnspecified: /^[0:]+$/.test(text),
    isLoopback: /^[0:]*:0*1$/.test(text),
    isLinkLocal: /^fe[89ab][0-9a-f]:/.test(text),
    isLinkLocalMulticast: /^ff[0-9a-f]2:/.test(text),
  };
}
