import { expect, test } from "vitest";
import type { Environment } from "../environment/environment.ts";
import { NetworkError } from "../environment/network.ts";
import { ProcessError } from "../environment/processes.ts";
import { NginxStartError } from "../outputs/nginx/nginx-process.ts";
import { UsageError } from "./command.ts";
import { namingPortFlags } from "./taken-port.ts";

const flags = [
  { flag: "--http-port", port: 8080 },
  { flag: "--status-port", port: 10_260 },
];

/** The listeners in the output of `ss`; undefined where it is not installed. */
function machine(shown: string | undefined): Pick<Environment, "processes"> {
  const run = async () => {
    if (shown === undefined) throw new ProcessError("NOT_FOUND", "cannot start ss");
    return { code: 0, signal: null, output: shown, errorOutput: "" };
  };
  return { processes: { run } as unknown as Environment["processes"] };
}

const taken = new NetworkError("ADDRESS_IN_USE", "cannot listen on 127.0.0.1:10260: taken");
const nginxTaken = new NginxStartError(
  "nginx did not start: bind() to 0.0.0.0:8080 failed (98: Address already in use). Another",
);

test.each<[string, Error, string | undefined, string]>([
  [
    "the flag and the process",
    taken,
    'LISTEN 0 511 127.0.0.1:10260 0.0.0.0:* users:(("node",pid=77,fd=20))\n',
    "port 10260 is in use by node (pid 77). Stop that process, or choose another port with --status-port.",
  ],
  [
    "nginx once, whose workers listen as well",
    nginxTaken,
    'LISTEN 0 511 0.0.0.0:8080 0.0.0.0:* users:(("nginx",pid=9,fd=6),("nginx",pid=8,fd=6))\n',
    "port 8080 is in use by nginx (pid 8). Stop that process, or choose another port with --http-port.",
  ],
  [
    "the flag alone, where the process is another user's",
    taken,
    "LISTEN 0 511 127.0.0.1:10260 0.0.0.0:*\n",
    "port 10260 is in use by another process. Stop that process, or choose another port with --status-port.",
  ],
  [
    "the flag alone, where the machine cannot say who listens",
    nginxTaken,
    undefined,
    "port 8080 is in use by another process. Stop that process, or choose another port with --http-port.",
  ],
])("a port that is taken is refused with %s", async (_, error, shown, message) => {
  const work = namingPortFlags(machine(shown), flags, () => Promise.reject(error));
  await expect(work).rejects.toEqual(new UsageError(message));
});

test.each([
  new NetworkError("ADDRESS_IN_USE", "cannot listen on 127.0.0.1:4000: taken"),
  new NetworkError("FAILED", "cannot listen on 127.0.0.1:8080: no such address"),
  new NginxStartError("nginx did not start: bind() to 0.0.0.0:8080 failed (13: Permission denied)"),
])("another failure stays as it is: %s", async (error) => {
  await expect(namingPortFlags(machine(""), flags, () => Promise.reject(error))).rejects.toBe(
    error,
  );
});
