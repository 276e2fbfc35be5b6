// Follows one open watch to its end: applies its events in order, proves meanwhile that it is
// current, and cuts it when the guard says so.
import { elapsedMs } from "../../environment/clock.ts";
import { NetworkError } from "../../environment/network.ts";
import type { CancelTimer } from "../../environment/timers.ts";
import type { Projected } from "../kinds/kind.ts";
import { behindAfterMs } from "./reflector-guard.ts";
import { eventsPerBreath } from "./reflector-list.ts";
import type { ReflectorParts } from "./reflector-parts.ts";
import { proveCurrent } from "./reflector-prover.ts";
import type { ListReason, WatchEnd } from "./reflector-state.ts";
import type { WatchStream } from "./reflector-stream.ts";

/** Never rejects: how the watch ended is the result. Closes the stream. */
export async function followWatch<T extends Projected, I extends string>(
  parts: ReflectorParts<T, I>,
  stream: WatchStream,
): Promise<WatchEnd> {
  const { freshness } = parts;
  freshness.connected(stream.peer);
  parts.guard.opened();
  const supervision = new Supervision(parts, stream);
  supervision.start();
  try {
    await applyEvents(parts, stream);
    return supervision.endOf({ type: "closed" });
  } catch (error) {
    return supervision.endOf({ type: "failed", error });
  } finally {
    freshness.disconnected({ byServer: supervision.endedByServer });
    await supervision.stop();
    await stream.close();
  }
}

async function applyEvents<T extends Projected, I extends string>(
  parts: ReflectorParts<T, I>,
  stream: WatchStream,
): Promise<void> {
  const { freshness, intake, counts, clock } = parts;
  let bytes = 0;
  let sinceBreath = 0;
  // Data that the stream has already read comes first: its first part may have been a list.
  do {
    const startedAt = clock.monotonicMs();
    for (let event = stream.nextEvent(); event !== undefined; event = stream.nextEvent()) {
      counts.event(event.type);
      freshness.reached(intake.apply(event, freshness.resourceVersion ?? ""));
      sinceBreath += 1;
      if (sinceBreath >= eventsPerBreath) {
        sinceBreath = 0;
        await parts.timers.breathe();
      }
    }
    counts.chunk(bytes, elapsedMs(startedAt, clock.monotonicMs()));
    bytes = await stream.read();
    if (bytes > 0) {
      freshness.received();
    }
  } while (bytes > 0);
}

/**
 * Runs beside the events of a stream: the guard's timer and the prover, or only the check for
 * silence.
 */
class Supervision<T extends Projected, I extends string> {
  readonly #parts: ReflectorParts<T, I>;
  readonly #stream: WatchStream;
  readonly #abort = new AbortController();
  #proving: Promise<void> = Promise.resolve();
  #cancelLook: CancelTimer | undefined;
  #relist: ListReason | undefined;
  #endedByServer = false;

  constructor(parts: ReflectorParts<T, I>, stream: WatchStream) {
    this.#parts = parts;
    this.#stream = stream;
  }

  get endedByServer(): boolean {
    return this.#endedByServer;
  }

  start(): void {
    const { checks } = this.#parts;
    if (checks !== "all") {
      if (checks.silenceMaxMs !== undefined) this.#listen(checks.silenceMaxMs);
      return;
    }
    this.#look();
    this.#proving = proveCurrent(
      {
        ...this.#parts,
        onRead: () => this.#look(),
        onRewound: () => {
          if (this.#parts.guard.mayRelist(this.#parts.clock.monotonicMs())) {
            this.#cut("rewound");
          }
        },
      },
      this.#abort.signal,
    );
  }

  async stop(): Promise<void> {
    this.#cancelLook?.();
    this.#abort.abort(new Error("the watch has ended"));
    await this.#proving;
  }

  /** The real end of the stream: errors after a cut are only its consequence. */
  endOf(end: WatchEnd): WatchEnd {
    if (this.#stream.isCut) {
      return { type: "cut", relist: this.#relist };
    }
    this.#endedByServer = !(end.type === "failed" && end.error instanceof NetworkError);
    return end;
  }

  /** One timer, set to the instant at which the guard could first change its mind. */
  #look(): void {
    this.#cancelLook?.();
    const now = this.#parts.clock.monotonicMs();
    const verdict = this.#parts.guard.judge(now);
    switch (verdict.action) {
      case "wait":
        this.#cancelLook = this.#parts.timers.after(elapsedMs(now, verdict.until), () =>
          this.#look(),
        );
        break;
      case "rewatch":
        this.#doubt(verdict.why, undefined);
        break;
      case "relist":
        this.#doubt(verdict.why === "silent" ? "silent" : "behind", verdict.why);
        break;
    }
  }

  /** Without checks: only a long silence ends the watch, and what follows is a new one. */
  #listen(silenceMaxMs: number): void {
    const { clock, freshness, timers } = this.#parts;
    const now = clock.monotonicMs();
    const silentMs = elapsedMs(freshness.receivedAt ?? now, now);
    if (silentMs >= silenceMaxMs) {
      this.#cut(undefined);
      return;
    }
    // Rounded up: a wait too short for the clock to show would never be over.
    const waitMs = Math.ceil(silenceMaxMs - silentMs);
    this.#cancelLook = timers.after(waitMs, () => this.#listen(silenceMaxMs));
  }

  /** One that has had its time should better be followed by another server's; a new one has not. */
  #doubt(why: "silent" | "behind", relist: ListReason | undefined): void {
    const hadItsTime = this.#stream.lastedMs >= behindAfterMs;
    if (hadItsTime) this.#parts.client.doubtServer?.(this.#stream.peer, why);
    this.#cut(relist);
  }

  #cut(relist: ListReason | undefined): void {
    this.#relist = relist;
    this.#stream.cut();
  }
}
