// Binding a server to its address. A unix socket's file outlives a process that was killed: such a
// file is replaced. A socket in use, or a file that is no socket, is left alone.
import { chmod, lstat, rm } from "node:fs/promises";
import { createConnection, type Server } from "node:net";
import type { ListenOptions } from "../network.ts";
import { errorCode } from "./error-code.ts";
import { hostAndPort } from "./node-address.ts";
import { listenFailure } from "./node-network-errors.ts";

/** Only this user may connect: the socket controls the proxy, including its trusted proxies. */
const socketMode = 0o600;

/** Connections the kernel holds while we are busy: a proxy's workers may all come at once. */
const backlog = 1024;

export async function bind(server: Server, options: ListenOptions): Promise<void> {
  const { host, port, socketPath } = options;
  const where = socketPath ?? hostAndPort(host, port);
  try {
    if (socketPath === undefined) await listening(server, { host, port, backlog });
    else await bindSocketFile(server, socketPath);
  } catch (error) {
    throw listenFailure(where, error instanceof Error ? error : new Error(String(error)));
  }
}

async function bindSocketFile(server: Server, path: string): Promise<void> {
  try {
    await listening(server, { path, backlog });
  } catch (error) {
    if (errorCode(error) !== "EADDRINUSE" || !(await isStale(path))) throw error;
    await rm(path, { force: true });
    await listening(server, { path, backlog });
  }
  try {
    await chmod(path, socketMode);
  } catch (error) {
    // Open to others, perhaps: better not at all.
    server.close();
    throw error;
  }
}

function listening(
  server: Server,
  options: { host: string; port: number; backlog: number } | { path: string; backlog: number },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const onListening = (): void => {
      server.off("error", onError);
      resolve();
    };
    const onError = (error: Error): void => {
      server.off("listening", onListening);
      reject(error);
    };
    server.once("listening", onListening);
    server.once("error", onError);
    server.listen(options);
  });
}

/** True for the socket file of a listener that is gone. */
async function isStale(path: string): Promise<boolean> {
  const entry = await lstat(path);
  if (!entry.isSocket()) return false;
  return new Promise((resolve) => {
    const probe = createConnection(path);
    probe.once("connect", () => {
      probe.destroy();
      resolve(false);
    });
    probe.once("error", (error) => resolve(errorCode(error) === "ECONNREFUSED"));
  });
}
