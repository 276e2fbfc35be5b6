// Saves the pushed state in a file of nginx's prefix, so that an nginx that comes back alone can
// serve. Written soon after a change, at a bounded rate; the larger the file, the rarer. The file
// holds private keys: only its owner may read it.
import { elapsedMs } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import { FilesError, ownerOnly } from "../../environment/files.ts";
import type { CancelTimer } from "../../environment/timers.ts";
import type { ProxyEntry } from "./proxy-state.ts";
import {
  type EndpointDetails,
  entryLines,
  knownLine,
  noDetails,
  SnapshotContent,
  snapshotBytesMax,
} from "./snapshot-format.ts";

/** The state to save, as it is now. */
export interface SavedSource {
  entries(): Iterable<ProxyEntry>;
  /** Of the endpoints of a service. */
  details(): (service: string) => EndpointDetails;
  /** How many objects each watch shows, by its name. */
  known(): ReadonlyMap<string, number>;
}

export interface StateSnapshotOptions
  extends Pick<Environment, "clock" | "timers" | "files" | "log"> {
  /** nginx's own folder. */
  readonly prefix: string;
  readonly source: SavedSource;
}

/** A change is saved this soon, and changes of this time together. */
export const saveAfterMs = 500;

/** At least so long between two. */
export const saveEveryMs = 2_000;

/** Saving takes at most one part in so many of our time. */
const restFactor = 50;

/** Lines are made in portions, between which other work may run: decisions must not wait. */
const portionEntries = 500;

export function snapshotPathOf(prefix: string): string {
  return `${prefix}/state/snapshot.jsonl`;
}

export class StateSnapshot {
  readonly #options: StateSnapshotOptions;
  readonly #path: string;
  #isDirty = false;
  #restMs = saveAfterMs;
  #cancel: CancelTimer | undefined;
  #saving: Promise<void> = Promise.resolve();
  #isStopped = false;
  /** The last failure that was logged: one that lasts is no news. */
  #failure = "";

  constructor(options: StateSnapshotOptions) {
    this.#options = options;
    this.#path = snapshotPathOf(options.prefix);
  }

  /** Something new was pushed to nginx. Returns at once. */
  readonly changed = (): void => {
    this.#isDirty = true;
    if (this.#isStopped) return;
    this.#cancel ??= this.#options.timers.after(this.#restMs, () => {
      this.#saving = this.#save();
    });
  };

  /** Saves what is not saved yet. Idempotent. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await this.#saving;
    if (this.#isDirty) await this.#save();
  }

  async #save(): Promise<void> {
    const { clock, log } = this.#options;
    const beganAt = clock.monotonicMs();
    this.#isDirty = false;
    try {
      await this.#write();
      if (this.#failure !== "") log.info("saving the state works again");
      this.#failure = "";
    } catch (error) {
      if (!(error instanceof FilesError)) throw error;
      if (error.message !== this.#failure) {
        log.warn("cannot save the state; nginx could not restart without Lockstep", {
          reason: error.message,
        });
      }
      this.#failure = error.message;
    }
    this.#restMs = Math.max(saveEveryMs, restFactor * elapsedMs(beganAt, clock.monotonicMs()));
    this.#cancel = undefined;
    if (this.#isDirty) this.changed();
  }

  async #write(): Promise<void> {
    const { clock, timers, files, prefix, source } = this.#options;
    const content = new SnapshotContent();
    // As they are at one instant, so that no host refers to a service that is not among them.
    const entries = source.entries();
    const detailsOf = source.details();
    content.add(knownLine(source.known()));
    let portion: string[] = [];
    for (const entry of entries) {
      const details = entry.kind === "service" ? detailsOf(entry.name) : noDetails;
      portion.push(entryLines(entry, details));
      if (portion.length < portionEntries) continue;
      content.add(portion.join(""));
      portion = [];
      await timers.breathe();
    }
    content.add(portion.join(""));
    if (content.bytes > snapshotBytesMax) {
      throw new FilesError("NO_SPACE", this.#path, "the state is too large to save");
    }
    await files.makeDirectory(`${prefix}/state`);
    await files.write(this.#path, content.finish(clock.wallMs()), { mode: ownerOnly });
  }
}
