// For tests: an address where a connection is neither taken nor refused, as of a machine that was
// switched off. A listener whose queue is full and whose process stands still is one, and needs no
// privilege.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";

export interface BlackHole {
  readonly address: string;
  readonly port: number;
  close(): Promise<void>;
}

/** The kernel accepts one more than this. */
const backlog = 1;

/** A connection that is not made by then waits for a place in the queue. */
const quickMs = 250;

/** More than any kernel takes with that backlog. */
const mostQueued = 16;

export async function openBlackHole(address: string, port: number): Promise<BlackHole> {
  const listen = JSON.stringify({ host: address, port, backlog });
  const program = `require("node:net").createServer().listen(${listen}, () => console.log("on"));`;
  const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
  const [said] = await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
  if (child.exitCode !== null) throw new Error(`cannot listen on ${address}:${port}: ${said}`);
  child.kill("SIGSTOP");
  const queued: Socket[] = [];
  const close = async (): Promise<void> => {
    for (const socket of queued) socket.destroy();
    await ended(child);
  };
  while (await isTaken(queued, address, port)) {
    if (queued.length <= mostQueued) continue;
    await close();
    throw new Error(`${address}:${port} takes every connection`);
  }
  return { address, port, close };
}

/** Whether one more connection was made; it stays open either way. */
async function isTaken(queued: Socket[], host: string, port: number): Promise<boolean> {
  const socket = connect({ host, port });
  socket.on("error", () => undefined);
  queued.push(socket);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    // After what has come meanwhile, in case this process stood still.
    timer = setTimeout(() => setImmediate(() => resolve(false)), quickMs);
  });
  const taken = once(socket, "connect").then(() => true);
  const isMade = await Promise.race([taken, late]);
  clearTimeout(timer);
  return isMade;
}

async function ended(child: ChildProcess): Promise<void> {
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}
