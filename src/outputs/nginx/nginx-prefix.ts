// The folder nginx runs in: the constant files, copied so that an upgrade of Lockstep cannot change
// them under a running nginx, and the three lines that differ from run to run. These come from
// Lockstep's own options and are checked; nothing of a Kubernetes object gets here.
import { createHash } from "node:crypto";
import type { Files } from "../../environment/files.ts";

export interface NginxPrefixOptions {
  readonly files: Files;
  /** Absolute. Made when it is absent; the user nginx runs as must own it. */
  readonly prefix: string;
  /** The constant files: the folder `proxy` of Lockstep. */
  readonly proxyDirectory: string;
  readonly listen: readonly ListenAddress[];
  readonly workers: number;
  /** Where the distribution keeps nginx's modules. */
  readonly modulesDirectory?: string;
}

export interface ListenAddress {
  /** An IP address. */
  readonly address: string;
  readonly port: number;
}

/** Debian's and Alpine's. */
const defaultModulesDirectory = "/usr/lib/nginx/modules";

/** A unix socket's path has 107 bytes; Linux refuses a longer one. */
const longestSocketPathBytes = 107;

/** What a path or an address in a configuration file may hold without any quoting. */
const plainPath = /^\/[\w./-]+$/;
const plainAddress = /^(\d{1,3}(\.\d{1,3}){3}|[\da-f:.]*:[\da-f:.]*)$/i;

const folders = ["run", "lua/lockstep", "logs", "temp", "control"];

export function socketPathOf(prefix: string): string {
  return `${prefix}/control/control.sock`;
}

/** Writes all files; gives the id of this run, which changes when any of them does. */
export async function prepareNginxPrefix(options: NginxPrefixOptions): Promise<string> {
  const { files, prefix, proxyDirectory } = options;
  check(options);
  for (const folder of folders) await files.makeDirectory(`${prefix}/${folder}`);
  const hash = createHash("sha256");
  for (const name of ["nginx.conf", "upstreams.conf", ...(await luaFiles(options))]) {
    const content = await files.read(`${proxyDirectory}/${name}`);
    if (content === undefined) throw new Error(`${proxyDirectory}/${name} is missing`);
    hash.update(name).update(content);
    await files.write(`${prefix}/${name}`, content);
  }
  const main = mainLines(options);
  const listen = options.listen.map((one) => `listen ${hostAndPort(one)};\n`).join("");
  const run = hash.update(main).update(listen).digest("hex").slice(0, 16);
  await files.write(`${prefix}/run/main.conf`, main);
  await files.write(`${prefix}/run/listen.conf`, listen);
  const control = `listen unix:${socketPathOf(prefix)};\nset $lockstep_run ${run};\n`;
  await files.write(`${prefix}/run/control.conf`, control);
  return run;
}

/** The folder `proxy` that belongs to this code, built or not. */
export async function findProxyDirectory(files: Files): Promise<string> {
  for (const above of ["../../../", "../../../../"]) {
    const directory = new URL(`${above}proxy`, import.meta.url).pathname;
    if ((await files.read(`${directory}/nginx.conf`)) !== undefined) return directory;
  }
  throw new Error("the folder proxy with nginx.conf is missing from this installation");
}

async function luaFiles({ files, proxyDirectory }: NginxPrefixOptions): Promise<readonly string[]> {
  const names = await files.list(`${proxyDirectory}/lua/lockstep`);
  return names.filter((name) => name.endsWith(".lua")).map((name) => `lua/lockstep/${name}`);
}

function mainLines({ workers, modulesDirectory = defaultModulesDirectory }: NginxPrefixOptions) {
  const modules = ["ndk_http_module.so", "ngx_http_lua_module.so"];
  const loads = modules.map((module) => `load_module ${modulesDirectory}/${module};\n`);
  return `${loads.join("")}worker_processes ${workers};\n`;
}

function hostAndPort({ address, port }: ListenAddress): string {
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

function check({ prefix, listen, workers, modulesDirectory }: NginxPrefixOptions): void {
  for (const path of [prefix, modulesDirectory ?? defaultModulesDirectory]) {
    if (plainPath.test(path)) continue;
    throw new Error(`${path}: nginx's folders are absolute, of letters, digits, ".", "_" and "-"`);
  }
  if (Buffer.byteLength(socketPathOf(prefix)) > longestSocketPathBytes) {
    throw new Error(
      `${socketPathOf(prefix)}: a socket's path has at most ${longestSocketPathBytes} bytes; ` +
        "choose a shorter prefix",
    );
  }
  if (!Number.isInteger(workers) || workers < 1) throw new Error("nginx needs a worker or more");
  if (listen.length === 0) throw new Error("nginx needs an address to listen on");
  for (const { address, port } of listen) {
    const isPort = Number.isInteger(port) && port >= 1 && port <= 65_535;
    if (!isPort || !plainAddress.test(address)) {
      throw new Error(
        `nginx cannot listen on ${address}:${port}: an IP address and a port, please`,
      );
    }
  }
}
