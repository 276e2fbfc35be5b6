// How long a push takes under load, and whether it is true when nginx says that it is: a service is
// moved between its own endpoints and another one, and requests that begin after the word must all
// be routed by it.

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import {
  hostAt,
  moved,
  movedEndpoint,
  ordinaryEndpoints,
  ordinaryHosts,
  serviceKey,
} from "./proxy-scale.ts";
import type { ProxyBenchWorld } from "./proxy-world.ts";

export interface PushResult {
  readonly routedMs: readonly number[];
  /** Requests that began after nginx's word, and those of them that went to what was before. */
  readonly asked: number;
  readonly stale: number;
}

/** After each change, on as many connections: with more than one worker some meet each of them. */
const askers = 4;

/** Services take turns: one is not asked for again before its worker may have forgotten it. */
const servicesInTurn = 500;

export async function measurePushes(
  world: ProxyBenchWorld,
  { changes, everyMs }: { readonly changes: number; readonly everyMs: number },
): Promise<PushResult> {
  const sockets = Array.from({ length: askers }, () => connect(world.ports.lockstep, "127.0.0.1"));
  const routedMs: number[] = [];
  let stale = 0;
  try {
    for (let change = 0; change < changes; change += 1) {
      const service = change % servicesInTurn;
      const isMoved = Math.floor(change / servicesInTurn) % 2 === 0;
      const { backend } = world.ports;
      const endpoints = isMoved ? [movedEndpoint(backend)] : ordinaryEndpoints(service, backend);
      routedMs.push(await world.change(serviceKey(service), endpoints));
      const answers = await Promise.all(
        sockets.map((socket) => who(socket, hostAt(ordinaryHosts, service))),
      );
      stale += answers.filter((address) => (address === moved) !== isMoved).length;
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  } finally {
    for (const socket of sockets) socket.destroy();
  }
  return { routedMs, asked: changes * askers, stale };
}

/** Under which address the backend was asked. The answer is small and comes in one piece. */
async function who(socket: Socket, host: string): Promise<string> {
  const answered = once(socket, "data");
  socket.write(`GET /who HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  const [answer]: Buffer[] = await answered;
  const text = answer?.toString("latin1") ?? "";
  return text.slice(text.indexOf("\r\n\r\n") + 4);
}
