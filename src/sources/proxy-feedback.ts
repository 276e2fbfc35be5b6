// Endpoints that the proxy could not reach a moment ago, as found by real requests. A proxy forgets
// them soon, so this is a reason to look closer and never a verdict. There is no polling: the proxy
// answers when it has news. Peers that answer a probe are reported to it, and it uses them again.
import type { Environment } from "../environment/environment.ts";
import type { EndpointId } from "./endpoint-id.ts";

export interface ProxyReport {
  /** Names what the proxy had seen when it said this. */
  readonly revision: number;
  readonly unreached: readonly UnreachedPeer[];
}

/** A peer that refused a connection or did not take it in time. */
export interface UnreachedPeer {
  readonly key: EndpointId;
  readonly ageMs: number;
}

export interface ProxyReporter {
  /**
   * Answers when there is news since that revision, or after a while; at once unless it is given.
   * Undefined when there is no proxy that can be asked.
   */
  report(since: number | undefined, signal: AbortSignal): Promise<ProxyReport | undefined>;
  /** Ends the marks of unreached peers that answered a probe. */
  answered(peers: readonly EndpointId[], signal: AbortSignal): Promise<void>;
}

export interface ProxyFeedbackOptions extends Pick<Environment, "timers" | "log"> {
  readonly reporter: ProxyReporter;
  /** Called with the peers that are no longer, or not until now, among the unreached. */
  readonly onChange: (peers: ReadonlySet<EndpointId>) => void;
}

/** Between two reports, however much there is to tell: a dead node is many peers. */
export const reportEveryMs = 1_000;

export class ProxyFeedback {
  readonly #options: ProxyFeedbackOptions;
  readonly #stopping = new AbortController();
  #unreached: ReadonlySet<EndpointId> = new Set();
  /** Peers that answered, and that the proxy does not know of yet. */
  #answered = new Set<EndpointId>();
  #running: Promise<void> | undefined;
  #telling: Promise<void> | undefined;

  constructor(options: ProxyFeedbackOptions) {
    this.#options = options;
  }

  get unreached(): ReadonlySet<EndpointId> {
    return this.#unreached;
  }

  start(): void {
    this.#running ??= this.#run(this.#stopping.signal);
  }

  /** The peer answered a probe. Without this, the proxy would avoid an unreached one for a while. */
  answered(peer: EndpointId): void {
    if (this.#stopping.signal.aborted || !this.#unreached.has(peer)) return;
    this.#answered.add(peer);
    this.#telling ??= this.#tell(this.#stopping.signal).finally(() => {
      this.#telling = undefined;
    });
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the proxy is asked no more"));
    await Promise.all([this.#running, this.#telling]);
  }

  /** One message at a time: those of a whole node go together. */
  async #tell(signal: AbortSignal): Promise<void> {
    const { reporter } = this.#options;
    try {
      while (this.#answered.size > 0) {
        const peers = [...this.#answered];
        this.#answered.clear();
        await reporter.answered(peers, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { reporter, timers } = this.#options;
    let revision: number | undefined;
    try {
      while (!signal.aborted) {
        const report = await reporter.report(revision, signal);
        // A proxy that was restarted counts from zero.
        revision = report?.revision;
        this.#take(report?.unreached ?? []);
        await timers.sleep(reportEveryMs, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  #take(peers: readonly UnreachedPeer[]): void {
    const { log, onChange } = this.#options;
    const before = this.#unreached;
    this.#unreached = new Set(peers.map(({ key }) => key));
    const came = peers.filter(({ key }) => !before.has(key));
    for (const { key, ageMs } of came) log.debug("requests to an endpoint fail", { key, ageMs });
    const went = [...before].filter((key) => !this.#unreached.has(key));
    const changed = new Set([...came.map(({ key }) => key), ...went]);
    if (changed.size > 0) onChange(changed);
  }
}
