// Addresses that name no one machine of the network, and so cannot be an endpoint's.

import { isIpv6 } from "../../environment/ip-address.ts";
import type { FieldErrors } from "./field-errors.ts";

export interface EndpointIpOptions {
  /** The lab's pods live on loopback addresses, which a real server refuses. */
  readonly mayBeLoopback?: boolean;
}

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
