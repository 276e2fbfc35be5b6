// A port for a program that must be told one before it runs, as nginx: nobody listens on it, and the
// system hands it to no outgoing connection, which could take it in the moment between. Those come
// from 32768 on (net.ipv4.ip_local_port_range), so it is sought below.
import type { Environment } from "../environment/environment.ts";
import { NetworkError } from "../environment/network.ts";
import { randomInt } from "../environment/random.ts";

/** Above what services usually have. */
const from = 20_000;
const below = 32_768;

/** If so many are taken, something else is wrong. */
const mostTries = 100;

export async function freePort(
  { network, random }: Pick<Environment, "network" | "random">,
  host: string,
): Promise<number> {
  for (let tries = 1; ; tries += 1) {
    const port = from + randomInt(random, below - from);
    try {
      const listener = await network.listen({ host, port }, (exchange) => exchange.abort());
      await listener.close();
      return port;
    } catch (error) {
      const isTaken = error instanceof NetworkError && error.code === "ADDRESS_IN_USE";
      if (!isTaken || tries === mostTries) throw error;
    }
  }
}
