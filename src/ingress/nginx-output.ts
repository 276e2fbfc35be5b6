// The nginx of one replica with its supervisor, its pusher and the file with the pushed state.
import type { Registry } from "prom-client";
import type { DecisionChanges, DecisionOutput, RoutingDecision } from "../decide/decision.ts";
import type { MonotonicMs } from "../environment/clock.ts";
import type { Environment } from "../environment/environment.ts";
import type { Steps } from "../environment/steps.ts";
import type { ControlState } from "../outputs/nginx/control-client.ts";
import type { LeftOutEntry, MemoryUse } from "../outputs/nginx/entry-memory.ts";
import { findProxyDirectory, socketPathOf } from "../outputs/nginx/nginx-prefix.ts";
import { NginxPusher } from "../outputs/nginx/nginx-pusher.ts";
import type { NginxServerOptions } from "../outputs/nginx/nginx-servers.ts";
import { NginxSupervisor } from "../outputs/nginx/nginx-supervisor.ts";
import {
  type Owner,
  type OwnerSettings,
  PrefixOwner,
  type RoutesOrigin,
} from "../outputs/nginx/prefix-owner.ts";
import {
  readSnapshot,
  type SavedState,
  snapshotAgeMaxMs,
} from "../outputs/nginx/snapshot-format.ts";
import { StateSnapshot, snapshotPathOf } from "../outputs/nginx/state-snapshot.ts";
import { EndpointCounters, type EndpointUse } from "../sources/endpoint-counters.ts";
import type { EndpointId } from "../sources/endpoint-id.ts";
import type { ProxyReport, ProxyReporter } from "../sources/proxy-feedback.ts";
import type { LeftOutSource } from "./left-out.ts";

export interface NginxSettings extends NginxServerOptions, OwnerSettings {
  /** nginx's own folder; absolute. */
  readonly prefix: string;
  readonly workers: number;
  /** Whether the pushed state is saved, private keys included; it is when absent. */
  readonly snapshot?: boolean;
}

export interface NginxOutputOptions extends NginxSettings {
  readonly environment: Environment;
  readonly metrics: Registry;
  readonly origin: RoutesOrigin;
  readonly statusPort: number;
  readonly onRouted: (service: string, version: number, at: MonotonicMs) => void;
  /** How many objects each watch shows, by its name; saved with the pushed state. */
  readonly known: () => ReadonlyMap<string, number>;
  /** Another Lockstep has asked to take over, or pushes to this nginx without asking. */
  readonly onSuperseded: (by: Owner | undefined) => void;
}

export class NginxOutput implements DecisionOutput, ProxyReporter, LeftOutSource {
  readonly #options: NginxOutputOptions;
  readonly #owner: PrefixOwner;
  /** Takes decisions from the beginning, and pushes from the start on. */
  readonly #pusher: NginxPusher;
  readonly #stopping = new AbortController();
  #supervisor: NginxSupervisor | undefined;
  #snapshot: StateSnapshot | undefined;
  #counters: EndpointCounters | undefined;
  #asked: Promise<void> | undefined;
  #isLoaded = false;
  /** Whether nginx serves for us; one that we never got hold of is not ours to end. */
  #hasNginx = false;

  constructor(options: NginxOutputOptions) {
    const { environment, metrics, onRouted, onSuperseded, prefix, snapshot } = options;
    this.#options = options;
    this.#owner = new PrefixOwner({ ...environment, ...options });
    this.#pusher = new NginxPusher({
      ...environment,
      metrics,
      socketPath: socketPathOf(prefix),
      onRouted,
      onSuperseded: () => onSuperseded(undefined),
      onLoaded: () => {
        this.#isLoaded = true;
      },
      onPushed: () => this.#snapshot?.changed(),
    });
    if (snapshot !== false) this.#snapshot = this.#snapshotOf(this.#pusher);
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
    return this.#isLoaded ? undefined : "nginx has not received the routes yet";
  }

  /** Nothing has ever been started with this prefix. */
  async isNew(): Promise<boolean> {
    const { environment, prefix } = this.#options;
    return (await environment.files.kind(prefix)) === undefined;
  }

  /** Comes before everything else; gives the living owner that must hand over before the start. */
  async claim(): Promise<Owner | undefined> {
    return await this.#owner.claim();
  }

  /** Resolves when the owner has handed over: nginx keeps serving by its routes. */
  async takeOver(predecessor: Owner, signal: AbortSignal): Promise<void> {
    const { log } = this.#options.environment;
    await this.#owner.takeOver(predecessor, signal);
    const { pid, since } = predecessor;
    log.info("took over nginx from another Lockstep, which has ended", { pid, since });
  }

  /** Resolves when nginx serves; routes are pushed as soon as they are known. */
  async start(): Promise<void> {
    const { environment, metrics, onSuperseded, ...settings } = this.#options;
    const proxyDirectory = await findProxyDirectory(environment.files);
    const options = { ...environment, ...settings, metrics, proxyDirectory };
    const supervisor = new NginxSupervisor(options);
    this.#supervisor = supervisor;
    await supervisor.start();
    this.#hasNginx = true;
    await this.#checkEntry();
    this.#pusher.start();
    this.#counters = new EndpointCounters({ ...environment, metrics, reporter: this.#pusher });
    this.#counters.start();
    this.#asked = this.#owner.asked(this.#stopping.signal).then((taker) => {
      if (taker !== undefined) onSuperseded(taker);
    });
  }

  /** nginx finishes its requests within the time and ends, or goes on by itself. Idempotent. */
  async stop(options: { readonly keepNginx: boolean; readonly drainMs: number }): Promise<void> {
    this.#stopping.abort(new Error("the ingress is stopping"));
    await this.#asked;
    await this.#counters?.stop();
    await this.#pusher.stop();
    await this.#snapshot?.stop();
    if (options.keepNginx || !this.#hasNginx) await this.#supervisor?.stop();
    else await this.#supervisor?.stopNginx(options.drainMs);
  }

  /** After the stop: from now on another Lockstep may have this nginx. Idempotent. */
  async release(): Promise<void> {
    await this.#owner.release({ hasServed: this.#isLoaded });
  }

  reopenLogs(): void {
    this.#supervisor?.reopenLogs();
  }

  *applying(decision: RoutingDecision, changes: DecisionChanges): Steps<void> {
    yield* this.#pusher.applying(decision, changes);
  }

  /** Entries that do not fit into nginx's memory beside those of others. */
  leftOut(): readonly LeftOutEntry[] {
    return this.#pusher.state.leftOut();
  }

  memoryUse(): readonly MemoryUse[] {
    return this.#pusher.state.memoryUse();
  }

  get leftOutRevision(): number {
    return this.#pusher.state.leftOutRevision;
  }

  /** How many decisions were applied until now. */
  get applied(): number {
    return this.#pusher.applied;
  }

  /** How many of them have been pushed to nginx. */
  get pushed(): number {
    return this.#pusher.pushed;
  }

  async report(since: number | undefined, signal: AbortSignal): Promise<ProxyReport | undefined> {
    return this.#pusher.report(since, signal);
  }

  async answered(peers: readonly EndpointId[], signal: AbortSignal): Promise<void> {
    await this.#pusher.answered(peers, signal);
  }

  /** The use of an endpoint by requests, as last read; by `endpointId`. */
  useOf(key: string): EndpointUse | undefined {
    return this.#counters?.of(key);
  }

  /** The use of each endpoint by requests until now, by `endpointId`. */
  async use(): Promise<ReadonlyMap<string, EndpointUse>> {
    await this.#counters?.refresh();
    return this.#counters?.all() ?? new Map();
  }

  /** Where root starts nginx, its workers are another user. */
  async #checkEntry(): Promise<void> {
    const { environment, prefix } = this.#options;
    const { files, processes, log } = environment;
    if (!processes.isRoot || (await files.isOpenToOthers(prefix))) return;
    log.warn(
      "the nginx workers cannot open this folder because they do not run as root. Large bodies " +
        "and passwords will fail, and logs cannot be reopened. Choose another --prefix, or allow " +
        "access to the parent folders (chmod o+x)",
      { prefix },
    );
  }

  #snapshotOf({ state }: NginxPusher): StateSnapshot {
    const { environment, prefix, known } = this.#options;
    return new StateSnapshot({
      ...environment,
      prefix,
      source: {
        entries: () => state.present(),
        known,
        details: () => state.details(),
      },
    });
  }
}

export type RememberedState = Omit<SavedState, "savedAtMs">;

/** The last saved state of a Lockstep with this prefix; none when it is damaged or too old. */
export async function readRemembered(
  { files, clock }: Pick<Environment, "files" | "clock">,
  prefix: string,
): Promise<RememberedState> {
  const content = await files.read(snapshotPathOf(prefix));
  const saved = content === undefined ? undefined : readSnapshot(content);
  const isUsable = saved !== undefined && clock.wallMs() - saved.savedAtMs <= snapshotAgeMaxMs;
  return isUsable ? saved : { services: new Map(), known: new Map() };
}
