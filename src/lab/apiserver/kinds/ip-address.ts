// Textual IP addresses, without the node:net module so that nothing here can open a socket.

export function isIpv4(text: string): boolean {
  const parts = text.split(".");
  return (
    parts.length === 4 &&
    parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255)
  );
}

export function isIpv6(text: string): boolean {
  const halves = text.split("::");
  if (!text.includes(":") || halves.length > 2) {
    return false;
  }
  const groups = halves.flatMap((half) => (half === "" ? [] : half.split(":")));
  const last = groups.at(-1) ?? "";
  const hasV4Tail = last.includes(".");
  if (hasV4Tail && !isIpv4(last)) {
    return false;
  }
  const hexGroups = hasV4Tail ? groups.slice(0, -1) : groups;
  const count = hexGroups.length + (hasV4Tail ? 2 : 0);
  const isLengthRight = halves.length === 2 ? count < 8 : count === 8;
  return isLengthRight && hexGroups.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group));
}

export function isIp(text: string): boolean {
  return isIpv4(text) || isIpv6(text);
}

export const invalidIpMessage = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

export const invalidCidrMessage = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

/** An address and how many of its leading bits count. */
export function isCidr(text: string): boolean {
  const [address = "", bits = "", ...more] = text.split("/");
  const most = isIpv4(address) ? 32 : isIpv6(address) ? 128 : -1;
  return more.length === 0 && /^(0|[1-9]\d{0,2})$/.test(bits) && Number(bits) <= most;
}
