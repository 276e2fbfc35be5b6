// The entries begin to listen only when everything behind them serves. A port that
// somebody else has is found out before the story begins.
import type { Environment } from "../../../environment/environment.ts";
import { UsageError } from "../../command.ts";
import { namingPortFlags } from "../../taken-port.ts";
import { host } from "./ingress-side.ts";

/** Rejects with a `UsageError` when one of them is taken; 0 is any free port. */
export async function refuseTakenPorts(
  environment: Pick<Environment, "network" | "processes">,
  { stock, lockstep }: { readonly stock: number; readonly lockstep: number },
): Promise<void> {
  if (stock === lockstep && stock !== 0) {
    throw new UsageError(`--port and --stock-port must be different; both are ${stock}.`);
  }
  const flags = [
    { flag: "--port", port: lockstep },
    { flag: "--stock-port", port: stock },
  ].filter(({ port }) => port !== 0);
  await namingPortFlags(environment, flags, async () => {
    for (const { port } of flags) {
      const listener = await environment.network.listen({ host, port }, (exchange) =>
        exchange.abort(),
      );
      await listener.close();
    }
  });
}
