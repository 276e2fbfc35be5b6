// The configuration that Lockstep's is compared with: one server in front of one upstream, written
// the way people write one, with the settings, headers and log of Lockstep's own files, in which what
// only Lockstep knows is replaced by what nginx knows.
import type { Certificate } from "../src/decide/decision.ts";
import type { Files } from "../src/environment/files.ts";
import { findProxyDirectory } from "../src/outputs/nginx/nginx-prefix.ts";

export interface StaticOptions {
  readonly files: Files;
  readonly port: number;
  readonly tlsPort: number;
  readonly certificate: Certificate;
  /** A folder of its own. */
  readonly prefix: string;
  readonly peers: readonly string[];
  readonly backendPort: number;
  readonly workers: number;
}

/** More than are ever under way at once. */
const keptAtLeast = 256;

/**
 * Lockstep's log takes 1,000 lines a second and worker and then only failures. A static log takes
 * all or a share: this one writes about as many at the rates that are reached here.
 */
const loggedPercentPerWorker = 2.5;

/** Settings of the server that both can have. */
const sharedSettings =
  /^(client_|large_client_|request_pool|send_timeout|reset_timedout|keepalive_|proxy_(buffer|busy|http|connect|send_t|read_t|next))/;

const replacements: readonly (readonly [string, string])[] = [
  ["$lockstep_upstream_host", "$http_host"],
  ["$lockstep_host", "$http_host"],
  ["$lockstep_connection", "$connection_header"],
  ["$lockstep_upgrade", "$http_upgrade"],
];

/** Writes the certificate's files, too. */
export async function staticConfiguration(options: StaticOptions): Promise<string> {
  const { files, port, tlsPort, certificate, prefix, peers, backendPort, workers } = options;
  await files.makeDirectory(prefix);
  await files.write(`${prefix}/tls.crt`, certificate.chain);
  await files.write(`${prefix}/tls.key`, certificate.key);
  const directory = await findProxyDirectory(files);
  const textOf = async (name: string): Promise<string> =>
    Buffer.from((await files.read(`${directory}/${name}`)) ?? []).toString("utf8");
  const constant = await textOf("nginx.conf");
  const servers = peers.map((peer) => `server ${peer}:${backendPort};`);
  return `${mainLines(workers)}
http {
  ${temporaryFiles}
  server_tokens off;
  tcp_nodelay on;
  default_type application/octet-stream;
  map $http_upgrade $connection_header { "" ""; default upgrade; }
  split_clients $request_id $is_logged { ${workers * loggedPercentPerWorker}% 1; * 0; }
  ${logFormatOf(constant)}
  upstream backend {
    ${servers.join("\n    ")}
    keepalive ${Math.max(keptAtLeast, peers.length)};
    keepalive_timeout 60s;
    keepalive_requests 10000;
  }
  server {
    listen 127.0.0.1:${port};
    listen 127.0.0.1:${tlsPort} ssl http2;
    ssl_certificate tls.crt;
    ssl_certificate_key tls.key;
    ${linesOf(await textOf("tls.conf"), /^ssl_(protocols|ciphers|prefer|session_t)/)}
    ssl_session_cache shared:static_tls:16m;
    access_log logs/access.log lockstep buffer=32k flush=1s if=$is_logged;
    ${linesOf(await textOf("server.conf"), sharedSettings)}
    location / {
      ${withoutOurs(linesOf(await textOf("headers-direct.conf"), /^proxy_set_header /))}
      proxy_pass http://backend;
    }
  }
}
`;
}

export function mainLines(workers: number): string {
  return `worker_processes ${workers};
worker_rlimit_nofile 32768;
pid nginx.pid;
error_log logs/error.log warn;
pcre_jit on;
events { worker_connections 16384; }`;
}

export const temporaryFiles = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
  .map((name) => `${name}_temp_path temp/${name};`)
  .join(" ");

/** Lockstep's format; Lockstep's own values are constants of usual length. */
function logFormatOf(constant: string): string {
  const [format] = /^ *log_format [^;]*;/m.exec(constant) ?? [];
  if (format === undefined) throw new Error("nginx.conf has no log_format");
  return format.replaceAll(/\$lockstep_\w+/g, "namespace/name:80");
}

/** Lines outside of blocks: lines in a block are indented. */
function linesOf(text: string, wanted: RegExp): string {
  const lines = text.split("\n");
  return lines.filter((line) => wanted.test(line)).join("\n    ");
}

function withoutOurs(text: string): string {
  return replacements.reduce((all, [ours, plain]) => all.replaceAll(ours, plain), text);
}
