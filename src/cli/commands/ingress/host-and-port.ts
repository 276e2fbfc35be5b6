// An address with its port as people and URLs write it.

export function hostAndPort(address: string, port: number): string {
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}
