// Says while it is recorded what is not, and when it is again: each trouble once as long as it lasts,
// and each name that is probably misspelt once.
import { visible } from "../../../decide/routing/shown-text.ts";
import { elapsedMs, type MonotonicMs } from "../../../environment/clock.ts";
import type { Environment } from "../../../environment/environment.ts";
import type { Terminal } from "../../../environment/terminal.ts";
import type { CancelTimer } from "../../../environment/timers.ts";
import type { ClusterStatus } from "../../../observe/cluster-status.ts";

import { absentNamespaces, type Trouble, troublesOf } from "./record-notes.ts";

export interface RecordNewsOptions extends Pick<Environment, "clock" | "timers"> {
  readonly terminal: Pick<Terminal, "writeError">;
  /** Those that were asked for; all when undefined. */
  readonly namespaces: readonly string[] | undefined;
  readonly clusters: () => readonly ClusterStatus[];
}

const lookEveryMs = 1_000;

interface Lasting {
  readonly trouble: Trouble;
  readonly since: MonotonicMs;
  readonly isSaid: boolean;
}

export class RecordNews {
  readonly #options: RecordNewsOptions;
  /** By the trouble's key; all that were there at the last look. */
  #lasting: ReadonlyMap<string, Lasting> = new Map();
  readonly #asked = new Set<string>();
  #cancel: CancelTimer | undefined;

  constructor(options: RecordNewsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#cancel = this.#options.timers.after(lookEveryMs, () => {
      this.#look();
      this.start();
    });
  }

  /** Idempotent. */
  stop(): void {
    this.#cancel?.();
  }

  #look(): void {
    const { clusters, namespaces } = this.#options;
    const found = clusters();
    const before = this.#lasting;
    const lasting = troublesOf(found).map((trouble) => this.#judge(trouble));
    this.#lasting = new Map(lasting.map((one) => [one.trouble.key, one]));
    for (const [key, { trouble, isSaid }] of before) {
      if (isSaid && !this.#lasting.has(key)) this.#say(trouble.overText);
    }
    for (const question of absentNamespaces(found, namespaces)) {
      if (!this.#asked.has(question)) this.#say(question);
      this.#asked.add(question);
    }
  }

  /** Says it when it has lasted for long enough. */
  #judge(trouble: Trouble): Lasting {
    const now = this.#options.clock.monotonicMs();
    const { since = now, isSaid = false } = this.#lasting.get(trouble.key) ?? {};
    const isDue = elapsedMs(since, now) >= trouble.saidAfterMs;
    if (isDue && !isSaid) this.#say(trouble.text);
    return { trouble, since, isSaid: isSaid || isDue };
  }

  #say(line: string): void {
    this.#options.terminal.writeError(`${visible(line)}\n`);
  }
}
