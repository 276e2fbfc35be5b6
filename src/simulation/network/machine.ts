// A machine as the network sees it: its name, whether it can be reached, and who listens there.
import { anyAddress, listenerKey } from "./address.ts";
import type { NetworkNode } from "./link.ts";
import type { SimulatedListener } from "./simulated-listener.ts";

/** Where the system's own choice of ports begins, as on Linux. */
const firstEphemeralPort = 32_768;

export class Machine implements NetworkNode {
  readonly name: string;
  isolated = false;
  vanished = false;
  /** By `listenerKey` or `unixKey`. */
  readonly listeners = new Map<string, SimulatedListener>();
  #nextPort = firstEphemeralPort;

  constructor(name: string) {
    this.name = name;
  }

  choosePort(): number {
    return this.#nextPort++;
  }

  listensOn(address: string): boolean {
    const prefix = `${address}:`;
    for (const key of this.listeners.keys()) if (key.startsWith(prefix)) return true;
    return false;
  }

  /** The listener at this address and port, if any. */
  listenerAt(address: string, port: number): SimulatedListener | undefined {
    return (
      this.listeners.get(listenerKey(address, port)) ??
      this.listeners.get(listenerKey(anyAddress, port))
    );
  }
}
