// What `lockstep ingress` says to the person who started it: what it serves, and that it stops.

import { durationText } from "../../../environment/duration-text.ts";
import type { Terminal } from "../../../environment/terminal.ts";
import type { IngressReplica } from "../../../ingress/ingress-replica.ts";
import { paintFor } from "../../terminal/paint.ts";
import { hostAndPort } from "./host-and-port.ts";
import type { IngressConfig } from "./ingress-settings.ts";

/** Addresses that mean every address; a person on this machine asks this one. */
const anywhere: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

export function greetingLines(
  terminal: Terminal,
  config: IngressConfig,
  replica: IngressReplica,
): string {
  const paint = paintFor(terminal);
  const { statusAddress, statusPort, httpsPort } = config;
  const port = replica.statusAddress?.port ?? statusPort;
  const clusters = replica.loop.sources.map(({ cluster }) => cluster).join(", ");
  const served = config.listen
    .flatMap((address) => [
      `http://${hostAndPort(address, config.httpPort)}`,
      ...(httpsPort === undefined ? [] : [`https://${hostAndPort(address, httpsPort)}`]),
    ])
    .join(", ");
  const status = hostAndPort(anywhere.has(statusAddress) ? "127.0.0.1" : statusAddress, port);
  const what = config.shadow
    ? `shadow mode: only observing, for Ingress class ${config.class}`
    : `serving ${paint.strong(served)} for Ingress class ${config.class}`;
  return (
    `${paint.lockstep("●")} ${what}\n` +
    `  pods from ${clusters}; routes from ${replica.loop.asked.cluster}\n` +
    `  ${paint.secondary(`endpoints and reasons: http://${status}/state`)}\n`
  );
}

export function stoppingLine(config: IngressConfig, delayMs: number): string {
  const wait = delayMs === 0 ? "" : `serving for another ${durationText(delayMs)}, then `;
  const end = config.keepNginx
    ? "nginx continues alone"
    : `waiting up to ${durationText(config.drainTimeoutMs)} for requests in progress`;
  return `Stopping: ${wait}${end}. Press Ctrl-C again to stop immediately.\n`;
}
