// One replica's part in the election: it competes for the Lease, writes status while it holds it,
// and checks locks for ghosts, its own and configured others. Every ghost is reported. It is
// deposed only on our own lock, and only if that was allowed. A replica stands aside when its own
// pod is gone. It never takes the lock again when it is found to be the ghost: a deleted pod never
// comes back.
import type { Registry } from "prom-client";
import type { Environment } from "../environment/environment.ts";
import { HttpKubeClient, type HttpKubeClientOptions } from "../kube/client/http-client.ts";
import { logThrottled, RateLimitedClient } from "../kube/client/rate-limited-client.ts";
import { TokenBucket } from "../kube/client/token-bucket.ts";
import type { ClusterAccess } from "../kube/credentials/credentials.ts";
import type { LoadBalancerAddress } from "../kube/kinds/ingress.ts";
import type { GhostReport } from "../kube/leader/ghost-check.ts";
import { findHolder } from "../kube/leader/ghost-holder.ts";
import { GhostWatch } from "../kube/leader/ghost-watch.ts";
import { LeaderElection } from "../kube/leader/leader-election.ts";
import type { ObservedLeader } from "../kube/leader/leader-lock.ts";
import { defaultElectionTimes, type ElectionTimes } from "../kube/leader/leader-rules.ts";
import type { LockReference } from "../kube/leader/lease-record.ts";
import {
  type DecidedGateways,
  GatewayStatusWriter,
} from "../outputs/status/gateway-status-writer.ts";
import {
  type AskedIngresses,
  StatusWriter,
  type StatusWriterOptions,
} from "../outputs/status/status-writer.ts";

export interface LeadershipSettings {
  /** The status to write and the candidate for the lock; nothing is written when absent. */
  readonly publish?: PublishSettings;
  /** Locks of others that are watched for ghosts. */
  readonly watchedLocks: readonly LockReference[];
  /** Called when a holder is first known to be a ghost. */
  readonly onGhost?: (report: GhostReport) => void;
}

export interface PublishSettings {
  readonly addresses: readonly LoadBalancerAddress[];
  /** The Lease, in the cluster with the Ingresses. */
  readonly lease: { readonly namespace: string; readonly name: string };
  /** See `leader-identity.ts`. */
  readonly identity: string;
  /** Where the pods of our replicas are; any namespace when absent. */
  readonly podNamespace: string | undefined;
  readonly deposeGhosts: boolean;
  /** Kubernetes' own unless given. */
  readonly times?: ElectionTimes;
}

export interface LeadershipOptions
  extends LeadershipSettings,
    Pick<Environment, "clock" | "timers" | "random" | "network" | "log"> {
  readonly cluster: ClusterAccess;
  readonly asked: AskedIngresses;
  /** Absent where Gateways are not served. */
  readonly gateways?: DecidedGateways | undefined;
  readonly className: string;
  readonly untilRouted?: NonNullable<StatusWriterOptions["untilRouted"]>;
  readonly metrics: Registry;
  readonly onForbidden?: HttpKubeClientOptions["onForbidden"];
}

/** For people and machines, as `/state` shows it. */
export interface LeadershipReport {
  /** Undefined when this replica does not compete. */
  readonly election:
    | {
        readonly lease: string;
        readonly identity: string;
        readonly isLeading: boolean;
        /** The leader and the start of its term; undefined while unknown. */
        readonly leader: ObservedLeader | undefined;
        /** Why it does not take the lock though it could: what proves that its own pod is gone. */
        readonly aside: string | undefined;
      }
    | undefined;
  readonly ghosts: readonly GhostReport[];
}

/** A new leader of thousands of Ingresses must not crowd the API server. */
const writesPerSecond = 50;
const writeBurst = 100;

/** Of the look for our own pod, before the lock is taken. */
const lookDeadlineMs = 5_000;

const userAgent = "lockstep-ingress-status";

export class Leadership {
  readonly #options: LeadershipOptions;
  readonly #election: LeaderElection | undefined;
  readonly #ghostWatches: readonly GhostWatch[];
  /** This replica is a ghost. */
  readonly #abdicated = new AbortController();
  #aside: string | undefined;

  constructor(options: LeadershipOptions) {
    this.#options = options;
    const { publish, watchedLocks } = options;
    const others = watchedLocks.map((lock) => this.#watch(lock, "foreign", undefined));
    if (publish === undefined) {
      this.#ghostWatches = others;
      return;
    }
    const own = this.#watch({ kind: "Lease", ...publish.lease }, "own", publish.podNamespace);
    this.#ghostWatches = [own, ...others];
    const election: LeaderElection = new LeaderElection({
      ...options,
      ...(publish.times ?? defaultElectionTimes),
      client: this.#clientOver(options.network),
      lock: publish.lease,
      identity: publish.identity,
      releaseOnStop: true,
      onStartedLeading: (leading) => this.#write(election, publish, leading),
      mayDepose: (holder) => publish.deposeGhosts && own.confirms(holder),
      mayStand: (signal) => this.#mayStand(publish, signal),
      onNewLeader: (leader) => this.#sayWhoLeads(leader, publish),
    });
    this.#election = election;
  }

  /** Runs until the signal aborts; then the lock is free if it was ours. */
  async run(signal: AbortSignal): Promise<void> {
    const watching = this.#ghostWatches.map((watch) => watch.run(signal));
    const competing = AbortSignal.any([signal, this.#abdicated.signal]);
    await Promise.all([this.#election?.run(competing), ...watching]);
  }

  report(): LeadershipReport {
    const { publish } = this.#options;
    const election = this.#election;
    return {
      election: election &&
        publish && {
          lease: `${publish.lease.namespace}/${publish.lease.name}`,
          identity: publish.identity,
          isLeading: election.isLeader(),
          leader: election.leader(),
          aside: this.#aside,
        },
      ghosts: this.#ghostWatches.flatMap(({ verdict }) =>
        verdict?.kind === "ghost" ? [verdict.report] : [],
      ),
    };
  }

  /** Only proof counts: who cannot be looked up may lead. */
  async #mayStand(
    { identity, podNamespace }: PublishSettings,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { log, network } = this.#options;
    const limits = { deadlineMs: lookDeadlineMs, signal };
    const question = { identity, form: "own", podNamespace } as const;
    const { kind, evidence } = await findHolder(this.#clientOver(network), question, limits);
    const before = this.#aside;
    this.#aside = kind === "absent" ? evidence : undefined;
    if (this.#aside !== undefined && this.#aside !== before) {
      log.warn("this replica cannot become leader: its own pod no longer exists", {
        identity,
        evidence,
      });
    }
    return this.#aside === undefined;
  }

  #sayWhoLeads(leader: string, { identity, lease }: PublishSettings): void {
    const { log } = this.#options;
    const name = `${lease.namespace}/${lease.name}`;
    // That it leads itself the election has said.
    if (leader !== identity) log.info("another replica leads", { lease: name, leader });
  }

  #noteGhost(report: GhostReport, form: "own" | "foreign"): void {
    const { publish, log, onGhost } = this.#options;
    onGhost?.(report);
    if (form === "foreign" || report.holder !== publish?.identity) return;
    const { holder: identity, evidence } = report;
    this.#aside = evidence[0];
    log.error("this replica gives up leadership permanently: its own pod no longer exists", {
      identity,
      evidence,
    });
    this.#abdicated.abort(new Error("its own pod no longer exists"));
  }

  #watch(lock: LockReference, form: "own" | "foreign", podNamespace: string | undefined) {
    return new GhostWatch({
      ...this.#options,
      client: this.#clientOver(this.#options.network),
      lock,
      form,
      ...(podNamespace !== undefined && { podNamespace }),
      onGhost: (report) => this.#noteGhost(report, form),
    });
  }

  async #write(
    { fence }: LeaderElection,
    { addresses }: PublishSettings,
    leading: AbortSignal,
  ): Promise<void> {
    const { clock, timers, log, network, cluster } = this.#options;
    const client = new RateLimitedClient({
      client: this.#clientOver(fence.guard(network)),
      bucket: new TokenBucket({ clock, timers, qps: writesPerSecond, burst: writeBurst }),
      clock,
      server: cluster.server,
      onThrottled: logThrottled(log),
    });
    const { gateways } = this.#options;
    const ofGateways =
      gateways && new GatewayStatusWriter({ ...this.#options, gateways, client, addresses });
    await Promise.all([
      new StatusWriter({ ...this.#options, client, addresses }).run(leading),
      ofGateways?.run(leading),
    ]);
  }

  #clientOver(network: Environment["network"]): HttpKubeClient {
    return new HttpKubeClient({ ...this.#options, network, userAgent });
  }
}
