// The parts of a reflector, created once. Each part takes the few others it needs.
import { Registry } from "prom-client";
import type { Clock } from "../../environment/clock.ts";
import type { Log } from "../../environment/log.ts";
import { jitter, type Random } from "../../environment/random.ts";
import type { Timers } from "../../environment/timers.ts";
import type { KubeClient } from "../client/client.ts";
import type { Kind, Projected } from "../kinds/kind.ts";
import { Store } from "../store/store.ts";
import type { IndexFunctions } from "../store/store-view.ts";
import { Backoff } from "./backoff.ts";
import { FreshnessTracker } from "./freshness.ts";
import { LimitedLog } from "./limited-log.ts";
import { ReflectorCounts } from "./reflector-counts.ts";
import { type ChangeHandler, Delivery } from "./reflector-delivery.ts";
import { StallGuard } from "./reflector-guard.ts";
import { Intake } from "./reflector-intake.ts";
import { type KnownBefore, RemovalCheck } from "./reflector-removals.ts";
import { Collection, type CollectionOptions } from "./reflector-request.ts";
import type { WaitPolicy } from "./reflector-state.ts";

/** Between two tries, stretched by up to as much again, when rules forbid the request. */
export const refusedRetryMs = 30_000;

/**
 * A kube-apiserver that has just started refuses every client until it has read its rules. So this
 * many refusals in a row, some seconds in all, are retried soon.
 */
const passingRefusals = 3;

/**
 * How an open watch is doubted. `all` proves again and again that it is alive and current, and gives
 * up on one that is not. Without checks it is client-go's way: the first list may come from the
 * server's cache, however old, and a watch is believed until its connection ends.
 */
export type WatchChecks =
  | "all"
  | {
      /**
       * A watch that has been silent for so long has ended, as the kernel ends a connection whose
       * other end is gone. When absent, silence never ends a watch.
       */
      readonly silenceMaxMs?: number;
    };

/** The way of client-go, whose kernel notices nothing. */
export const noChecks: WatchChecks = {};

export interface ReflectorOptions<T extends Projected, I extends string> {
  readonly kind: Kind<T>;
  readonly client: KubeClient;
  /** Another API server of the same cluster to make the quorum reads at. */
  readonly witness?: KubeClient;
  /** For logs and metrics. */
  readonly cluster: string;
  /** All namespaces when absent. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly indexes: IndexFunctions<T, I>;
  readonly handlers: readonly ChangeHandler<T>[];
  /** Servers since 1.32 can stream the first list; older ones are noticed and asked for pages. */
  readonly initialList?: "watchlist" | "pages";
  readonly aliveWithinMs?: number;
  readonly currentWithinMs?: number;
  readonly checks?: WatchChecks;
  /**
   * How to remove objects that a list no longer has. "checked": if they are many, only after
   * further lists agree. "at once": another component checks them. Without checks always at once,
   * as client-go does.
   */
  readonly removals?: "checked" | "at once";
  /** The objects that an earlier process knew; the first list is compared with them. */
  readonly knownBefore?: KnownBefore;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: Registry;
}

export interface ReflectorParts<T extends Projected, I extends string> {
  readonly kind: Kind<T>;
  readonly client: KubeClient;
  /** Where quorum reads are made. */
  readonly witness: KubeClient;
  readonly collection: Collection;
  readonly store: Store<T, I>;
  readonly intake: Intake<T, I>;
  readonly delivery: Delivery<T>;
  readonly freshness: FreshnessTracker;
  readonly guard: StallGuard;
  readonly checks: WatchChecks;
  /** Undefined when removals count at once. */
  readonly removals: RemovalCheck<T, I> | undefined;
  /** Shows how many objects there are, undefined before the first list, until it is called off. */
  readonly track: (size: () => number | undefined) => () => void;
  readonly counts: ReflectorCounts;
  readonly policy: WaitPolicy;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  /** Aborts when the reflector is stopped. */
  readonly signal: AbortSignal;
}

export function assembleReflector<T extends Projected, I extends string>(
  options: ReflectorOptions<T, I>,
  signal: AbortSignal,
): ReflectorParts<T, I> {
  const { kind, client, clock, timers, random } = options;
  const labels = { cluster: options.cluster, resource: kind.resource };
  const log = options.log.child(labels);
  const limitedLog = new LimitedLog({ clock, log });
  const counts = new ReflectorCounts(options.metrics ?? new Registry(), labels);
  const store = new Store({ indexes: options.indexes });
  const delivery = new Delivery({ handlers: options.handlers, counts, log: limitedLog });
  const freshness = new FreshnessTracker(options);
  const { checks = "all", removals = checks === "all" ? "checked" : "at once" } = options;
  const watch = { ...labels, selection: selectionOf(options) };
  const knownBefore = () => options.knownBefore?.before(watch) ?? 0;
  const isChecked = removals === "checked";
  return {
    kind,
    client,
    witness: options.witness ?? client,
    collection: new Collection({ ...options, place: kind }),
    store,
    intake: new Intake({ kind, store, delivery, counts, log: limitedLog }),
    delivery,
    freshness,
    guard: new StallGuard({ freshness }),
    checks,
    removals: isChecked ? new RemovalCheck({ ...labels, knownBefore }) : undefined,
    track: (size) =>
      options.knownBefore?.track?.(watch, () => size() ?? knownBefore()) ?? (() => undefined),
    counts,
    policy: waitPolicy(clock, random),
    clock,
    timers,
    random,
    log,
    signal,
  };
}

function selectionOf({
  namespace,
  labelSelector,
  fieldSelector,
}: Pick<CollectionOptions, "namespace" | "labelSelector" | "fieldSelector">): string {
  return [namespace, labelSelector, fieldSelector].filter((part) => part !== undefined).join(" ");
}

function waitPolicy(clock: Clock, random: Random): WaitPolicy {
  const backoff = new Backoff({ clock, random });
  const refusals = new Backoff({ clock, random });
  return {
    backoffMs: () => backoff.next(),
    refusal: () => {
      const soonMs = refusals.next();
      const mayPass = refusals.failures <= passingRefusals;
      return { mayPass, delayMs: mayPass ? soonMs : jitter(random, refusedRetryMs, 1) };
    },
  };
}
