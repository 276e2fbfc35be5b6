// The networks in 127.0.0.0/8 for the pods, nodes and API servers of clusters over real sockets. A
// listener on an address that nothing else gets reserves each, so two labs on one machine never share
// one. The system closes the listener when the process ends.
import type { Environment } from "../environment/environment.ts";
import { type Listener, NetworkError } from "../environment/network.ts";
import { randomInt } from "../environment/random.ts";

export interface LoopbackNetworks {
  /** The first two octets of each, `127.83`. */
  readonly networks: readonly string[];
  /** Idempotent. */
  release(): Promise<void>;
}

/** Below are the loopback networks that distributions give to resolvers and host names. */
const firstOctet = 16;
const choices = 255 - firstOctet;

/** Neither a pod nor a server has this address. */
const lockAddress = "255.255";

/** Of no known service: a program that listens on every address would take all networks. */
const lockPort = 29_127;

/** The address of an API server; pods have no address x.y.255.z. */
export function serverAddress(network: string, number: number): string {
  return `${network}.255.${number + 1}`;
}

/** Every network is taken. */
export class NoLoopbackNetworkError extends Error {
  override readonly name = "NoLoopbackNetworkError";
  readonly code = "NO_LOOPBACK_NETWORK";
}

/** Different networks, chosen at random. */
export async function takeLoopbackNetworks(
  { network, random }: Pick<Environment, "network" | "random">,
  count: number,
): Promise<LoopbackNetworks> {
  const taken = new Map<string, Listener>();
  const release = async (): Promise<void> => {
    await Promise.all([...taken.values()].map((listener) => listener.close()));
  };
  const start = randomInt(random, choices);
  try {
    for (let tried = 0; taken.size < count; tried += 1) {
      if (tried === choices) throw noneLeft(count);
      const name = `127.${firstOctet + ((start + tried) % choices)}`;
      const listener = await lock(network, `${name}.${lockAddress}`);
      if (listener !== undefined) taken.set(name, listener);
    }
  } catch (error) {
    await release();
    throw error;
  }
  return { networks: [...taken.keys()], release };
}

/** Undefined when another lab has it. */
async function lock(network: Environment["network"], host: string): Promise<Listener | undefined> {
  try {
    return await network.listen({ host, port: lockPort }, (exchange) => exchange.abort());
  } catch (error) {
    if (error instanceof NetworkError && error.code === "ADDRESS_IN_USE") return undefined;
    throw error;
  }
}

function noneLeft(count: number): NoLoopbackNetworkError {
  return new NoLoopbackNetworkError(
    `there are no ${count} free networks in 127.0.0.0/8: other labs have them, ` +
      `or another program listens on port ${lockPort} of every address`,
  );
}
