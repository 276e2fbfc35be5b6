// Errors for a port in use: the flag that chooses another one, and the process that uses it, if the
// system reports it.
import type { Environment } from "../environment/environment.ts";
import { NetworkError } from "../environment/network.ts";
import { ProcessError } from "../environment/processes.ts";
import { NginxStartError } from "../outputs/nginx/nginx-process.ts";
import { UsageError } from "./command.ts";

export interface PortFlag {
  readonly flag: string;
  /** Undefined and 0 are never in use. */
  readonly port: number | undefined;
}

const askTimeoutMs = 5_000;

/**
 * Runs the work. If one of these ports is in use, it fails with a `UsageError` that names the flag.
 */
export async function namingPortFlags<Result>(
  { processes }: Pick<Environment, "processes">,
  flags: readonly PortFlag[],
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const port = takenPort(error);
    const given = flags.find((one) => one.port === port);
    if (port === undefined || given === undefined) throw error;
    const owner = await ownerOf(processes, port);
    throw new UsageError(
      `port ${port} is in use by ${owner ?? "another process"}. ` +
        `Stop that process, or choose another port with ${given.flag}.`,
      { cause: error },
    );
  }
}

/** Both kinds of error contain the address. */
function takenPort(error: unknown): number | undefined {
  const isTaken =
    (error instanceof NetworkError && error.code === "ADDRESS_IN_USE") ||
    (error instanceof NginxStartError && error.message.includes("Address already in use"));
  if (!isTaken) return undefined;
  const [, port] = /\S:(\d+)(?=[:\s])/.exec(error.message) ?? [];
  return port === undefined ? undefined : Number(port);
}

/** `nginx (pid 812)`; undefined for processes of other users, or without `ss`. */
async function ownerOf(
  processes: Environment["processes"],
  port: number,
): Promise<string | undefined> {
  try {
    const { output } = await processes.run("ss", ["-Hltnp", `sport = :${port}`], {
      timeoutMs: askTimeoutMs,
    });
    // Workers listen too; the master has the lowest pid.
    const [first] = [...output.matchAll(/\("([^"]*)",pid=(\d+)/g)]
      .map(([, name, pid]) => ({ name, pid: Number(pid) }))
      .sort((one, other) => one.pid - other.pid);
    return first === undefined ? undefined : `${first.name} (pid ${first.pid})`;
  } catch (error) {
    if (!(error instanceof ProcessError)) throw error;
    return undefined;
  }
}
