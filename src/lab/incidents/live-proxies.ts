// The proxies of both sides in real time: a real nginx for every replica, in a folder of its own. On
// Lockstep's side it is the nginx that `lockstep ingress` runs, with the same supervisor and files;
// on the other it is the model of ingress-nginx, whose configuration and Lua are the lab's. What
// each has tried is read from its access log.
import type { Environment } from "../../environment/environment.ts";
import { findProxyDirectory } from "../../outputs/nginx/nginx-prefix.ts";
import { NginxProcess } from "../../outputs/nginx/nginx-process.ts";
import { NginxSupervisor } from "../../outputs/nginx/nginx-supervisor.ts";
import { LivePlane } from "../stock/live/live-plane.ts";
import type { OnRouted, StockPlane } from "../stock/stock-plane.ts";
import type { Stage } from "./stage.ts";

export interface LiveProxyOptions {
  readonly stage: Stage;
  /** Of the replica and of its machine. */
  readonly name: string;
  readonly port: number;
}

/** Where a proxy writes what it did. */
export interface AccessLogs {
  /** With the target and the upstreams of each request, as `readAccessLog` reads it. */
  readonly tries: string;
  /** What an operator would have of it. */
  readonly kept: string;
}

/** The traffic of an incident is gentle, and the machine runs everything else beside. */
const workers = 1;

/** nginx writes a line a second late at most. */
export const accessLogFlushMs = 1_500;

/** Requests are over when a play is. */
const drainMs = 100;

export async function liveLockstepProxy({ stage, name, port }: LiveProxyOptions) {
  const environment = stage.environmentOf(name);
  const prefix = stage.folderOf(name);
  const supervisor = new NginxSupervisor({
    ...environment,
    prefix,
    proxyDirectory: await findProxyDirectory(environment.files),
    listen: [{ address: stage.hostOf(name), port }],
    workers,
  });
  const log = `${prefix}/logs/access.log`;
  const logs: AccessLogs = { tries: log, kept: log };
  return {
    socketPath: supervisor.socketPath,
    logs,
    start: () => supervisor.start(),
    stop: () => supervisor.stopNginx(drainMs),
  };
}

export function liveStockPlane(
  { stage, name, port }: LiveProxyOptions,
  onRouted: OnRouted,
): {
  readonly plane: StockPlane;
  readonly logs: AccessLogs;
  /** Where it says what it routes to; known once started. */
  readonly statusAddress: () => string;
} {
  const plane = new LivePlane({
    ...stage.environmentOf(name),
    prefix: stage.folderOf(name),
    host: stage.hostOf(name),
    port,
    onRouted,
    accessLog: true,
  });
  return {
    plane,
    logs: { tries: plane.accessLogPath, kept: plane.plainAccessLogPath },
    statusAddress: () => plane.statusAddress,
  };
}

/** Ends the nginx of a folder that nobody has ended, because the play was called off. */
export async function endNginx(environment: Environment, prefix: string): Promise<void> {
  const nginx = new NginxProcess({ ...environment, prefix, program: "nginx" });
  const master = await nginx.masterPid();
  if (master !== undefined) await nginx.endNow([master]);
}
