// A free port for a program that needs its number before it runs, such as nginx. The system gives ports
// from 32768 on to outgoing connections (net.ipv4.ip_local_port_range), so this port is below: no
// connection can take it before the program listens.
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
