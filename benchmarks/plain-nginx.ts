// An nginx with an ordinary configuration file: the one Lockstep is compared with, and the backend of
// both. Of the same program, and configured alike where both can be.
import type { Environment } from "../src/environment/environment.ts";
import { NginxProcess } from "../src/outputs/nginx/nginx-process.ts";
import { childrenOf } from "./process-cost.ts";
import { mainLines, temporaryFiles } from "./static-configuration.ts";

export interface PlainNginxOptions {
  readonly environment: Environment;
  /** A folder of its own. */
  readonly prefix: string;
  readonly configuration: string;
}

const program = "nginx";

export class PlainNginx {
  readonly #options: PlainNginxOptions;
  readonly #process: NginxProcess;

  constructor(options: PlainNginxOptions) {
    this.#options = options;
    this.#process = new NginxProcess({ ...options.environment, prefix: options.prefix, program });
  }

  async start(signal: AbortSignal): Promise<void> {
    const { environment, prefix, configuration } = this.#options;
    for (const folder of ["logs", "temp"])
      await environment.files.makeDirectory(`${prefix}/${folder}`);
    await environment.files.write(`${prefix}/nginx.conf`, configuration);
    await this.#process.start(signal);
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    const master = await this.#process.masterPid();
    if (master !== undefined) await this.#process.endNow([master]);
  }

  async workerPids(): Promise<readonly number[]> {
    const master = await this.#process.masterPid();
    return master === undefined ? [] : childrenOf(master);
  }
}

/** Answers at every address of this machine, with as little work as nginx can. */
export function backendConfiguration(port: number): string {
  return `${mainLines(1)}
http {
  ${temporaryFiles}
  access_log off;
  keepalive_requests 100000000;
  keepalive_timeout 1h;
  server {
    listen 0.0.0.0:${port} backlog=4096;
    location / { return 200 "hello\\n"; }
    location = /who { return 200 "$server_addr"; }
  }
}
`;
}
