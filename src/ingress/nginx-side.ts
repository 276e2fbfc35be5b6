// The nginx of one replica and all that looks after it: the supervisor that sees to it that there is
// one, the pusher that tells it what was decided, and the file that holds what it was told.
import type { Registry } from "prom-client";
import type { DecisionChanges, DecisionOutput, RoutingDecision } from "../decide/decision.ts";
import type { MonotonicMs } from "../environment/clock.ts";
import type { Environment } from "../environment/environment.ts";
import type { RememberedEndpoints } from "../model/remembered-endpoint.ts";
import type { ControlState } from "../outputs/nginx/control-client.ts";
import { findProxyDirectory } from "../outputs/nginx/nginx-prefix.ts";
import { NginxPusher } from "../outputs/nginx/nginx-pusher.ts";
import type { NginxServerOptions } from "../outputs/nginx/nginx-servers.ts";
import { NginxSupervisor } from "../outputs/nginx/nginx-supervisor.ts";
import type { LeftOutEntry, MemoryUse } from "../outputs/nginx/proxy-state.ts";
import { readSnapshot, snapshotAgeMaxMs } from "../outputs/nginx/snapshot-format.ts";
import { StateSnapshot, snapshotPathOf } from "../outputs/nginx/state-snapshot.ts";
import { EndpointCounters, type EndpointUse } from "../sources/endpoint-counters.ts";
import type { ProxyReport, ProxyReporter } from "../sources/proxy-feedback.ts";

import type { LeftOutSource } from "./left-out.ts";

export interface NginxSettings extends NginxServerOptions {
  /** nginx's own folder; absolute. */
  readonly prefix: string;
  readonly workers: number;
  /** Whether what nginx was told is saved, private keys included; it is when absent. */
  readonly snapshot?: boolean;
}

export interface NginxSideOptions extends NginxSettings {
  readonly environment: Environment;
  readonly metrics: Registry;
  readonly onRouted: (service: string, version: number, at: MonotonicMs) => void;
  readonly onSuperseded: () => void;
}

export class NginxSide implements DecisionOutput, ProxyReporter, LeftOutSource {
  readonly #options: NginxSideOptions;
  #pusher: NginxPusher | undefined;
  #supervisor: NginxSupervisor | undefined;
  #snapshot: StateSnapshot | undefined;
  #counters: EndpointCounters | undefined;
  #isLoaded = false;
  /** Whether nginx serves for us; one that we never got hold of is not ours to end. */
  #hasNginx = false;

  constructor(options: NginxSideOptions) {
    this.#options = options;
  }

  /** The nginx in service, as it was when last looked at; undefined while there is none. */
  get serving(): ControlState | undefined {
    return this.#supervisor?.serving;
  }

  /** Undefined when nginx serves by our decision; else what is missing. */
  get problem(): string | undefined {
    if (this.serving === undefined) {
      const why = this.#supervisor?.problem;
      return `nginx does not serve${why === undefined ? "" : `: ${why}`}`;
    }
    return this.#isLoaded ? undefined : "nginx has not been told the routes yet";
  }

  /** Resolves when nginx serves; it is told the routes as soon as they are known. */
  async start(): Promise<void> {
    const { environment, onRouted, onSuperseded, ...settings } = this.#options;
    const proxyDirectory = await findProxyDirectory(environment.files);
    const supervisor = new NginxSupervisor({ ...environment, ...settings, proxyDirectory });
    const pusher: NginxPusher = new NginxPusher({
      ...environment,
      metrics: settings.metrics,
      socketPath: supervisor.socketPath,
      onRouted,
      onSuperseded,
      onLoaded: () => {
        this.#isLoaded = true;
      },
      onTold: () => this.#snapshot?.changed(),
    });
    this.#supervisor = supervisor;
    this.#pusher = pusher;
    if (settings.snapshot !== false) this.#snapshot = this.#snapshotOf(pusher);
    await supervisor.start();
    this.#hasNginx = true;
    pusher.start();
    const { metrics } = settings;
    this.#counters = new EndpointCounters({ ...environment, metrics, reporter: pusher });
    this.#counters.start();
  }

  /** nginx finishes its requests within the time and ends, or goes on by itself. Idempotent. */
  async stop(options: { readonly keepNginx: boolean; readonly drainMs: number }): Promise<void> {
    await this.#counters?.stop();
    await this.#pusher?.stop();
    await this.#snapshot?.stop();
    if (options.keepNginx || !this.#hasNginx) await this.#supervisor?.stop();
    else await this.#supervisor?.stopNginx(options.drainMs);
  }

  apply(decision: RoutingDecision, changes: DecisionChanges): void {
    this.#pusher?.apply(decision, changes);
  }

  /** What nginx has no room for beside what others have. */
  leftOut(): readonly LeftOutEntry[] {
    return this.#pusher?.state.leftOut() ?? [];
  }

  memoryUse(): readonly MemoryUse[] {
    return this.#pusher?.state.memoryUse() ?? [];
  }

  get leftOutRevision(): number {
    return this.#pusher?.state.leftOutRevision ?? 0;
  }

  /** How many decisions were applied until now. */
  get applied(): number {
    return this.#pusher?.applied ?? 0;
  }

  /** How many of them nginx has been told. */
  get told(): number {
    return this.#pusher?.told ?? 0;
  }

  async report(since: number | undefined, signal: AbortSignal): Promise<ProxyReport | undefined> {
    return this.#pusher?.report(since, signal);
  }

  /** What requests did at an endpoint, as it was when last read; by `peerKey`. */
  useOf(key: string): EndpointUse | undefined {
    return this.#counters?.of(key);
  }

  /** What requests did at each endpoint until now, by `peerKey`. */
  async use(): Promise<ReadonlyMap<string, EndpointUse>> {
    await this.#counters?.refresh();
    return this.#counters?.all() ?? new Map();
  }

  #snapshotOf({ state }: NginxPusher): StateSnapshot {
    const { environment, prefix } = this.#options;
    return new StateSnapshot({
      ...environment,
      prefix,
      source: {
        entries: () => state.present(),
        detailsOf: (service) => ({
          uids: state.peersOf(service).map((peer) => peer.split(" ")[2] ?? ""),
          states: state.statesOf(service),
        }),
      },
    });
  }
}

/** What a Lockstep with this prefix knew last; nothing when that is damaged or too old. */
export async function readRemembered(
  { files, clock }: Pick<Environment, "files" | "clock">,
  prefix: string,
): Promise<RememberedEndpoints> {
  const content = await files.read(snapshotPathOf(prefix));
  const saved = content === undefined ? undefined : readSnapshot(content);
  const isUsable = saved !== undefined && clock.wallMs() - saved.savedAtMs <= snapshotAgeMaxMs;
  return isUsable ? saved.services : new Map();
}
