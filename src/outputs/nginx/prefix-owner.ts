// Keeps an nginx to one Lockstep. The owner of a prefix holds a lock, which ends with its process
// however that ends. A record beside the saved state says who the owner is and what its routes are
// made from. The record outlives its owner: the next one must serve the same class and contexts.
//
// A start with `takeOver` asks a living owner to hand over, once it has routes of its own. The owner
// then stops and leaves nginx serving. Until the new one has loaded its routes as a whole, nginx
// serves by the old ones, whichever of the two processes dies.
import { toTime } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import type { FileLock } from "../../environment/files.ts";
import { isRecord } from "../../kube/kinds/fields.ts";

/** The source of the routes: another source would give other routes. */
export interface RoutesOrigin {
  readonly className: string;
  readonly contexts: readonly string[];
  readonly accessContext: string;
}

export interface Owner extends RoutesOrigin {
  /** Another one for each start. */
  readonly id: string;
  readonly pid: number;
  /** The pod or machine where the pid means something; empty when unknown. */
  readonly host: string;
  readonly since: string;
  /** Its own, which it keeps until it has ended; 0 for any. */
  readonly statusPort: number;
}

export interface OwnerSettings {
  /** Ask a living owner to hand over. */
  readonly takeOver?: boolean;
  /** Serve a class or contexts other than those of the saved state. */
  readonly replaceState?: boolean;
}

export interface PrefixOwnerOptions
  extends OwnerSettings,
    Pick<Environment, "clock" | "timers" | "random" | "files" | "processes"> {
  readonly prefix: string;
  readonly origin: RoutesOrigin;
  readonly statusPort: number;
}

/** `OWNED`: a living process serves. `OTHER_STATE`: the saved state is of another class. */
export type OwnerErrorCode = "OWNED" | "OTHER_STATE" | "NOT_HANDED_OVER" | "NOTHING_TO_SERVE";

export class OwnerError extends Error {
  override readonly name = "OwnerError";
  readonly code: OwnerErrorCode;

  constructor(code: OwnerErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** How soon an owner sees that it is asked to hand over. */
const requestPollMs = 500;

/** How soon the next owner sees that the last one has ended. */
const lockPollMs = 50;

/** The owner saves its state and ends; it waits for no request. */
const handOverWithinMs = 30_000;

const ownerOnly = { mode: 0o600 };

export class PrefixOwner {
  readonly #options: PrefixOwnerOptions;
  readonly #self: Owner;
  readonly #recordPath: string;
  readonly #requestPath: string;
  readonly #lockPath: string;
  #lock: FileLock | undefined;
  /** As it was before ours. */
  #recordBefore: Uint8Array | undefined;

  constructor(options: PrefixOwnerOptions) {
    const { clock, prefix, processes, random, origin, statusPort } = options;
    this.#options = options;
    this.#recordPath = `${prefix}/state/owner.json`;
    this.#requestPath = `${prefix}/control/take-over.json`;
    this.#lockPath = `${prefix}/control/owner.lock`;
    this.#self = {
      id: random.uuid(),
      pid: processes.pid,
      host: processes.variables["HOSTNAME"] ?? "",
      className: origin.className,
      contexts: [...origin.contexts].sort(),
      accessContext: origin.accessContext,
      since: toTime(clock.wallMs()),
      statusPort,
    };
  }

  /**
   * Becomes the owner, or gives the living one that must hand over first. Fails without changing
   * anything when there is a living one that is not to be replaced, or a state of other routes.
   */
  async claim(): Promise<Owner | undefined> {
    const { files, prefix, takeOver } = this.#options;
    for (const folder of ["control", "state"]) await files.makeDirectory(`${prefix}/${folder}`);
    const lock = await files.lock(this.#lockPath);
    try {
      const record = await files.read(this.#recordPath);
      const saved = ownerIn(record);
      if (lock === undefined && takeOver !== true) throw this.#owned(saved);
      if (saved !== undefined) this.#checkOrigin(saved);
      this.#recordBefore = record;
      if (lock === undefined) return saved ?? unknownOwner;
      await this.#begin(lock);
      return undefined;
    } catch (error) {
      await lock?.release();
      throw error;
    }
  }

  /** Asks the owner to hand over, and becomes the owner when it has ended. */
  async takeOver(predecessor: Owner, signal: AbortSignal): Promise<void> {
    const { clock, files, timers } = this.#options;
    const request = { to: predecessor.id, by: this.#self };
    await files.write(this.#requestPath, JSON.stringify(request), ownerOnly);
    const beganAt = clock.monotonicMs();
    try {
      for (;;) {
        const lock = await files.lock(this.#lockPath);
        if (lock !== undefined) {
          await this.#begin(lock);
          return;
        }
        const saved = ownerIn(await files.read(this.#recordPath));
        if (saved !== undefined && saved.id !== predecessor.id) throw this.#owned(saved);
        if (clock.monotonicMs() - beganAt > handOverWithinMs) {
          throw new OwnerError(
            "NOT_HANDED_OVER",
            `${ownerText(predecessor)} did not hand over within ${handOverWithinMs / 1_000} s ` +
              "and keeps running: stop it, then start again",
          );
        }
        await timers.sleep(lockPollMs, signal);
      }
    } finally {
      await files.remove(this.#requestPath);
    }
  }

  /** Resolves with the one that asks to take over; undefined when the signal aborts. */
  async asked(signal: AbortSignal): Promise<Owner | undefined> {
    const { files, timers } = this.#options;
    while (!signal.aborted) {
      const request = parsed(await files.read(this.#requestPath));
      if (request?.["to"] === this.#self.id) return ownerOf(request["by"]) ?? unknownOwner;
      await timers.sleep(requestPollMs, signal).catch(() => undefined);
    }
    return undefined;
  }

  /** Idempotent. One that has never served leaves the record of the last one that has. */
  async release({ hasServed }: { readonly hasServed: boolean }): Promise<void> {
    const lock = this.#lock;
    if (lock === undefined) return;
    this.#lock = undefined;
    const { files } = this.#options;
    if (!hasServed) {
      if (this.#recordBefore === undefined) await files.remove(this.#recordPath);
      else await files.write(this.#recordPath, this.#recordBefore, ownerOnly);
    }
    await lock.release();
  }

  async #begin(lock: FileLock): Promise<void> {
    await this.#options.files.write(this.#recordPath, JSON.stringify(this.#self), ownerOnly);
    this.#lock = lock;
  }

  #owned(saved: Owner | undefined): OwnerError {
    const what = saved === undefined ? "" : ` class ${saved.className} since ${saved.since}`;
    return new OwnerError(
      "OWNED",
      `${ownerText(saved ?? unknownOwner)} serves${what} with ${this.#options.prefix}; ` +
        "use --take-over to replace it, or another --prefix and other ports to run both",
    );
  }

  #checkOrigin(saved: Owner): void {
    const { prefix, replaceState } = this.#options;
    const [before, wanted] = [originText(saved), originText(this.#self)];
    if (before === wanted || replaceState === true) return;
    throw new OwnerError(
      "OTHER_STATE",
      `the state saved in ${prefix} is for ${before}; this start is for ${wanted}. ` +
        "Give another --prefix, or --replace-state to replace the saved routes",
    );
  }
}

/** As a person would look for it. */
export function ownerText({ pid, host }: Owner): string {
  if (pid === unknownOwner.pid) return "another process";
  return host === "" ? `pid ${pid}` : `pid ${pid} on ${host}`;
}

function originText({ className, contexts, accessContext }: RoutesOrigin): string {
  return `class ${className}, contexts ${contexts.join(", ")}, access context ${accessContext}`;
}

/** Its record is not written yet, or cannot be read. */
const unknownOwner: Owner = {
  id: "",
  pid: 0,
  host: "",
  className: "",
  contexts: [],
  accessContext: "",
  since: "",
  statusPort: 0,
};

function ownerIn(content: Uint8Array | undefined): Owner | undefined {
  return ownerOf(parsed(content));
}

function ownerOf(value: unknown): Owner | undefined {
  if (!isRecord(value)) return undefined;
  const { id, pid, host, className, contexts, accessContext, since, statusPort } = value;
  if (typeof id !== "string" || typeof pid !== "number" || !Array.isArray(contexts)) {
    return undefined;
  }
  return {
    id,
    pid,
    host: String(host),
    className: String(className),
    contexts: contexts.map(String),
    accessContext: String(accessContext),
    since: String(since),
    statusPort: Number(statusPort),
  };
}

function parsed(content: Uint8Array | undefined): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(content ?? []).toString("utf8"));
    return isRecord(value) ? value : undefined;
  } catch {
    // Not written by an owner, or not whole: as if it were absent.
    return undefined;
  }
}
