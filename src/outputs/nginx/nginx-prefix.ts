// The folder nginx runs in: the constant files, copied so that an upgrade of Lockstep cannot change
// them under a running nginx, and the few lines that differ from run to run. These come from
// Lockstep's own options and are checked; nothing of a Kubernetes object gets here.
import { createHash, X509Certificate } from "node:crypto";
import { type Files, ownerOnly, ownerOnlyFolder, passableFolder } from "../../environment/files.ts";
import { makeFallbackCertificate } from "./fallback-certificate.ts";
import {
  hasTls,
  NginxOptionsError,
  type NginxServerOptions,
  serversConf,
  trustedConf,
} from "./nginx-servers.ts";

export interface NginxPrefixOptions extends NginxServerOptions {
  readonly files: Files;
  /** Absolute. Made when it is absent; the user nginx runs as must own it. */
  readonly prefix: string;
  /** The constant files: the folder `proxy` of Lockstep. */
  readonly proxyDirectory: string;
  readonly workers: number;
  /** Where the distribution keeps nginx's modules. */
  readonly modulesDirectory?: string;
}

/** Debian's and Alpine's. */
const defaultModulesDirectory = "/usr/lib/nginx/modules";

/** A unix socket's path has 107 bytes; Linux refuses a longer one. */
const longestSocketPathBytes = 107;

/** Characters that a path in a configuration file may contain without quotes. */
const plainPath = /^\/[\w./-]+$/;

const folders = ["run", "lua/lockstep", "logs", "temp", "control", "state"];

/**
 * Where nginx is started by root its workers are another user, who opens logs and temporary files by
 * their paths, and the Lua of the password thread. That user may pass through these and list nothing;
 * the files are their owner's, except for the Lua, which is no secret.
 */
const passable = ["", "/logs", "/temp", "/lua", "/lua/lockstep"];
const luaMode = 0o644;

/** Two for each connection of a worker (see nginx.conf), the client's and the endpoint's, and more. */
const openFilesWanted = 65_536;

export function socketPathOf(prefix: string): string {
  return `${prefix}/control/control.sock`;
}

/** Writes all files; gives the id of this run, which changes when any of them does. */
export async function prepareNginxPrefix(options: NginxPrefixOptions): Promise<string> {
  const { files, prefix, proxyDirectory } = options;
  check(options);
  const generated: [name: string, content: string][] = [
    ["run/main.conf", await mainLines(options)],
    ["run/servers.conf", serversConf(options)],
    ["run/trusted.conf", trustedConf(options)],
    ["run/upstream-ca.pem", await authorities(options)],
  ];
  for (const folder of folders) {
    await files.makeDirectory(`${prefix}/${folder}`);
    await files.setMode(`${prefix}/${folder}`, ownerOnlyFolder);
  }
  for (const folder of passable) await files.setMode(`${prefix}${folder}`, passableFolder);
  for (const name of await files.list(`${prefix}/logs`)) {
    await files.setMode(`${prefix}/logs/${name}`, ownerOnly);
  }
  const hash = createHash("sha256");
  for (const name of await constantFiles(options)) {
    const content = await files.read(`${proxyDirectory}/${name}`);
    if (content === undefined) throw new Error(`${proxyDirectory}/${name} is missing`);
    hash.update(name).update(content);
    await files.write(`${prefix}/${name}`, content);
    if (name.endsWith(".lua")) await files.setMode(`${prefix}/${name}`, luaMode);
  }
  for (const [name, content] of generated) {
    hash.update(name).update(content);
    await files.write(`${prefix}/${name}`, content);
  }
  if (hasTls(options)) await ensureFallbackCertificate(options);
  const run = hash.digest("hex").slice(0, 16);
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

async function constantFiles({ files, proxyDirectory }: NginxPrefixOptions) {
  const confs = await files.list(proxyDirectory);
  const lua = await files.list(`${proxyDirectory}/lua/lockstep`);
  return [
    ...confs.filter((name) => name.endsWith(".conf")),
    ...lua.filter((name) => name.endsWith(".lua")).map((name) => `lua/lockstep/${name}`),
  ];
}

/** An existing one stays: only nginx has it in memory, and another would be no better. */
async function ensureFallbackCertificate({ files, prefix }: NginxPrefixOptions): Promise<void> {
  const [chainPath, keyPath] = [`${prefix}/run/fallback.crt`, `${prefix}/run/fallback.key`];
  if ((await files.read(chainPath)) !== undefined && (await files.read(keyPath)) !== undefined) {
    return;
  }
  const { chain, key } = await makeFallbackCertificate();
  await files.write(keyPath, key, { mode: ownerOnly });
  await files.write(chainPath, chain);
}

/** The bundle, once it is known that nginx can read it; empty when there is none. */
async function authorities({ files, upstreamCa }: NginxPrefixOptions): Promise<string> {
  if (upstreamCa === undefined) return "";
  const content = await files.read(upstreamCa);
  if (content === undefined)
    throw new NginxOptionsError(`the CA bundle ${upstreamCa} does not exist`);
  const text = Buffer.from(content).toString("utf8");
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (found.length === 0) throw new NginxOptionsError(`${upstreamCa} contains no PEM certificate`);
  for (const [index, pem] of found.entries()) {
    try {
      new X509Certificate(pem);
    } catch (error) {
      const which = `certificate ${index + 1} of the CA bundle ${upstreamCa}`;
      throw new NginxOptionsError(`${which} cannot be read`, { cause: error });
    }
  }
  return `${found.join("\n")}\n`;
}

async function mainLines(options: NginxPrefixOptions): Promise<string> {
  const { files, workers, modulesDirectory = defaultModulesDirectory } = options;
  const modules = ["ndk_http_module.so", "ngx_http_lua_module.so"];
  const lines = [
    ...modules.map((module) => `load_module ${modulesDirectory}/${module}`),
    `worker_processes ${workers}`,
    ...openFileLines(await files.read("/proc/self/limits")),
  ];
  return lines.map((line) => `${line};\n`).join("");
}

/** As many as are allowed anyway; asking for more would fail. Without a word the default stands. */
function openFileLines(limits: Uint8Array | undefined): readonly string[] {
  const text = Buffer.from(limits ?? []).toString("utf8");
  const [, most] = /^Max open files +\S+ +(\d+|unlimited)/m.exec(text) ?? [];
  if (most === undefined) return [];
  const allowed = most === "unlimited" ? openFilesWanted : Number(most);
  return [`worker_rlimit_nofile ${Math.min(openFilesWanted, allowed)}`];
}

function check({ prefix, workers, modulesDirectory }: NginxPrefixOptions): void {
  for (const path of [prefix, modulesDirectory ?? defaultModulesDirectory]) {
    if (plainPath.test(path)) continue;
    throw new NginxOptionsError(
      `${path}: a folder of nginx must be an absolute path of letters, digits, ".", "_" and "-"`,
    );
  }
  if (Buffer.byteLength(socketPathOf(prefix)) > longestSocketPathBytes) {
    throw new NginxOptionsError(
      `${socketPathOf(prefix)}: the path of the socket is longer than ${longestSocketPathBytes} bytes; ` +
        "choose a shorter prefix",
    );
  }
  if (!Number.isInteger(workers) || workers < 1)
    throw new NginxOptionsError("nginx needs at least one worker");
}
