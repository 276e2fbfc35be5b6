// Addresses as text: `10.0.0.1:80`, `[::1]:80`, `unix:/run/lockstep.sock`.
import type { Socket } from "node:net";

export function hostAndPort(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The other end of a connection; a unix socket's client has no name. */
export function socketAddress(socket: Socket): string {
  const { remoteAddress, remotePort } = socket;
  if (remoteAddress === undefined || remotePort === undefined) return "unix:";
  return hostAndPort(remoteAddress, remotePort);
}
