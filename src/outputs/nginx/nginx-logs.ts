// Keeps nginx's logs from filling the disk: a log that is too large is renamed, over the one
// renamed before, and nginx is asked to open a new one. Lines written meanwhile are in the old one.
import type { Environment } from "../../environment/environment.ts";
import { FilesError } from "../../environment/files.ts";
import type { Processes } from "../../environment/processes.ts";
import type { AccessLogPlace } from "./nginx-servers.ts";

export interface NginxLogsOptions extends Pick<Environment, "files" | "log"> {
  readonly processes: Pick<Processes, "kill">;
  readonly prefix: string;
  /** How large a log may grow; it is looked at every few seconds, so somewhat larger. */
  readonly logMaxBytes?: number;
  readonly accessLog?: AccessLogPlace;
}

/** Two logs with two files each: a quarter of a gigabyte at most. */
const defaultLogMaxBytes = 64 * 1024 * 1024;

/** Printed lines need not be kept: the folder may be in memory. */
const printedLogMaxBytes = 8 * 1024 * 1024;

const accessLogName = "access.log";
const names = [accessLogName, "error.log"];

export function accessLogPathOf(prefix: string): string {
  return `${prefix}/logs/${accessLogName}`;
}

export class NginxLogs {
  readonly #options: NginxLogsOptions;

  constructor(options: NginxLogsOptions) {
    this.#options = options;
  }

  /** nginx goes on in files of the usual names, so that others may rename those that are there. */
  reopen(masterPid: number): void {
    this.#options.processes.kill(masterPid, "SIGUSR1");
  }

  /** Called now and then while this master serves. A log that cannot be put aside only grows. */
  async limit(masterPid: number): Promise<void> {
    const { log } = this.#options;
    try {
      const isOver = await Promise.all(names.map((name) => this.#putAside(name)));
      if (isOver.includes(true)) this.reopen(masterPid);
    } catch (error) {
      if (!(error instanceof FilesError)) throw error;
      log.warn("cannot rotate a log file of nginx; it keeps growing", { reason: error.message });
    }
  }

  async #putAside(name: string): Promise<boolean> {
    const { files, prefix } = this.#options;
    const path = `${prefix}/logs/${name}`;
    const bytes = (await files.size(path)) ?? 0;
    if (bytes <= this.#maxBytes(name)) return false;
    await files.rename(path, `${path}.1`);
    return true;
  }

  #maxBytes(name: string): number {
    const { accessLog, logMaxBytes = defaultLogMaxBytes } = this.#options;
    const isPrinted = name === accessLogName && accessLog === "stdout";
    return isPrinted ? Math.min(logMaxBytes, printedLogMaxBytes) : logMaxBytes;
  }
}
