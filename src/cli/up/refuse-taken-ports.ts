// The entries begin to listen only when everything behind them serves. A port that
// somebody else has is found out before the story begins.
import type { Network } from "../../environment/network.ts";
import { UsageError } from "../command.ts";
import { host } from "./ingress-side.ts";

/** Rejects with the network's own words when one of them is taken; 0 is any free port. */
export async function refuseTakenPorts(
  network: Network,
  { stock, lockstep }: { readonly stock: number; readonly lockstep: number },
): Promise<void> {
  if (stock === lockstep && stock !== 0) {
    throw new UsageError(`--port and --stock-port are both ${stock}: each entry needs its own.`);
  }
  for (const port of [lockstep, stock]) {
    if (port === 0) continue;
    const listener = await network.listen({ host, port }, (exchange) => exchange.abort());
    await listener.close();
  }
}
