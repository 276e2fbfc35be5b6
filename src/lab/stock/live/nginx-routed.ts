// Finds out when the live stock proxy routes by what was handed over to it: asks until every worker
// has taken it up. Of what was handed over in quick succession the workers take up only the last,
// so that one is reported, and an older one is never used again.
import { type Clock, type MonotonicMs, monotonicAfter } from "../../../environment/clock.ts";
import type { Environment } from "../../../environment/environment.ts";
import type { StockBackend } from "../stock-configuration.ts";
import type { OnRouted } from "../stock-plane.ts";
import type { NginxControl, TakenBackends } from "./nginx-control.ts";

export interface NginxRoutedOptions extends Pick<Environment, "clock" | "timers" | "log"> {
  readonly control: Pick<NginxControl, "taken">;
  readonly onRouted: OnRouted;
  /** From then on nothing is asked. */
  readonly signal: AbortSignal;
}

interface HandedOver {
  readonly generation: number;
  readonly backends: readonly StockBackend[];
}

/** How often nginx is asked. A report can be late by this much. */
const askEveryMs = 10;

export class NginxRouted {
  readonly #options: NginxRoutedOptions;
  /** Pushes that may not be routed yet, oldest first; a controller pushes every 3 s at most. */
  #awaited: readonly HandedOver[] = [];
  #asking: Promise<void> | undefined;

  constructor(options: NginxRoutedOptions) {
    this.#options = options;
  }

  handedOver(backends: readonly StockBackend[], generation: number): void {
    this.#awaited = [...this.#awaited, { generation, backends }];
    this.#asking ??= this.#ask();
  }

  /** Resolves when nothing is asked any more, which the signal brings about. */
  async ended(): Promise<void> {
    await this.#asking;
  }

  async #ask(): Promise<void> {
    const { timers, signal } = this.#options;
    while (this.#awaited.length > 0 && !signal.aborted) {
      const taken = await this.#taken();
      if (taken !== undefined) this.#tell(taken);
      // The signal ends the pause and then the loop.
      if (this.#awaited.length > 0) await timers.sleep(askEveryMs, signal).catch(() => undefined);
    }
    this.#asking = undefined;
  }

  async #taken(): Promise<TakenBackends | undefined> {
    const { control, log, signal } = this.#options;
    try {
      return await control.taken(signal);
    } catch (error) {
      if (!signal.aborted) log.debug("the stock proxy does not say what it routes by", { error });
      return undefined;
    }
  }

  #tell({ generation, at }: TakenBackends): void {
    const { clock, onRouted } = this.#options;
    const latest = this.#awaited.findLast((one) => one.generation <= generation);
    if (latest === undefined) return;
    this.#awaited = this.#awaited.filter((one) => one.generation > generation);
    onRouted(latest.backends, takenAt(clock, at));
  }
}

/** nginx is on this machine, so its clock is ours. */
function takenAt(clock: Clock, at: TakenBackends["at"]): MonotonicMs {
  const agoMs = at === undefined ? 0 : Math.max(0, clock.wallMs() - at);
  return monotonicAfter(clock.monotonicMs(), -agoMs);
}
