// When the address of an Ingress may be written to its status. Its routes are decided a moment
// after the change and pushed after that, and a certificate has to be read. A client that sees the
// address earlier gets a 404, or the fallback certificate.
import { claimsOf } from "../decide/routing/certificate-claims.ts";
import { elapsedMs } from "../environment/clock.ts";
import type { Environment } from "../environment/environment.ts";
import type { Ingress } from "../kube/kinds/ingress.ts";
import type { SecretSource } from "../sources/secret-source.ts";

export interface RoutedOptions extends Pick<Environment, "clock" | "timers"> {
  /** How often what is asked for has changed, how much of that is decided, and the secrets read. */
  readonly loop: {
    readonly revision: number;
    readonly decidedRevision: number;
    readonly secrets: Pick<SecretSource, "get">;
  };
  /** The number of decisions, and how many have been pushed to the proxy. */
  readonly proxy: { readonly applied: number; readonly pushed: number };
  readonly signal: AbortSignal;
}

/** A decision and its push take about as long. */
const lookAgainMs = 5;

/** A secret that cannot be read holds the address back no longer than this. */
export const secretsWithinMs = 1_000;

/** Resolves when the proxy routes by the Ingress as it is known now; rejects when the signal aborts. */
export async function untilRouted(ingress: Ingress, options: RoutedOptions): Promise<void> {
  const { clock, timers, loop, proxy, signal } = options;
  const startedAt = clock.monotonicMs();
  const isOver = () => elapsedMs(startedAt, clock.monotonicMs()) >= secretsWithinMs;
  // Its own alone: what another Ingress names may never be read.
  const isUnread = () =>
    claimsOf(ingress).claims.some(({ reference }) => loop.secrets.get(reference).kind === "unread");
  await untilDecided(options);
  while (isUnread() && !isOver()) {
    await timers.sleep(lookAgainMs, signal);
  }
  // Objects read meanwhile are part of the next decision.
  await untilDecided(options);
  const { applied } = proxy;
  while (proxy.pushed < applied) await timers.sleep(lookAgainMs, signal);
}

async function untilDecided({ timers, loop, signal }: RoutedOptions): Promise<void> {
  const { revision } = loop;
  while (loop.decidedRevision < revision) await timers.sleep(lookAgainMs, signal);
}
