// The controllers inside an API server that write the status of definitions: names, Established, and
// the deletion of objects with their definition. Every server of a cluster runs them. Each step is
// decided from the stored state, so a step that two servers take has one effect.
import { type Clock, elapsedMs, toTime } from "../../environment/clock.ts";
import type { Log } from "../../environment/log.ts";
import type { Timers } from "../../environment/timers.ts";
import { ApiError } from "../api-error.ts";
import type { ResourceKind } from "../kinds/resource-kind.ts";
import type { KubeObject } from "../kube-object.ts";
import type { Backend } from "../verbs/backend.ts";
import { deleteObject, readDeleteOptions, removeObject } from "../verbs/delete.ts";
import {
  approvalCondition,
  type ConditionUpdate,
  cleanupFinalizer,
  conditionOf,
  isTrue,
  withCondition,
} from "./definition.ts";
import { customResourceDefinitionKind } from "./definition-kind.ts";
import { decideNames } from "./definition-names.ts";

export interface DefinitionControllerOptions {
  readonly backend: Backend;
  readonly timers: Timers;
  readonly log: Log;
  /**
   * Between accepted names and Established. Real servers wait 5 s where there are
   * several of them, so that all know the definition before it is used.
   */
  readonly establishingDelayMs: number;
}

/** After a failed step: storage was not available, or objects could not be deleted. */
const retryMs = 5000;

/** apiextensions pkg/controller/finalizer: interval of checks, and the time until it starts again. */
const pollMs = 5000;
const waitMs = 60_000;

export class DefinitionController {
  readonly #options: DefinitionControllerOptions;
  readonly #stopping = new AbortController();
  /** Names of definitions that are being deleted, or established. */
  readonly #finalizing = new Set<string>();
  readonly #establishing = new Set<string>();

  constructor(options: DefinitionControllerOptions) {
    this.#options = options;
  }

  /** Idempotent. */
  stop(): void {
    this.#stopping.abort();
  }

  /** Takes each definition one step further; the change of its status brings the next. */
  async sync(
    definitions: readonly KubeObject[],
    storageKindOf: (definition: KubeObject) => ResourceKind | undefined,
  ): Promise<void> {
    for (const definition of definitions) {
      if (this.#stopping.signal.aborted) return;
      await this.#step(definition, definitions);
      const kind = storageKindOf(definition);
      if (isBeingDeleted(definition))
        this.#begin(this.#finalizing, definition, () => this.#finalize(definition, kind));
      else if (isUnestablished(definition)) {
        this.#begin(this.#establishing, definition, () => this.#establish(definition));
      }
    }
  }

  async #step(definition: KubeObject, all: readonly KubeObject[]): Promise<void> {
    await this.#update(definition, (current) => {
      const decided = decideNames(current, all, this.#now);
      const approval = approvalCondition(decided);
      if (approval === undefined || isSet(decided, approval)) return decided;
      return withCondition(decided, approval, this.#now);
    });
  }

  get #now(): string {
    return toTime(this.#options.backend.clock.wallMs());
  }

  /** Runs one task per definition at a time, to its end. */
  #begin(running: Set<string>, { metadata }: KubeObject, task: () => Promise<void>): void {
    if (running.has(metadata.name)) return;
    running.add(metadata.name);
    // Never rejects: failures are logged and retried until the server stops.
    void this.#untilDone(task, metadata.name).finally(() => running.delete(metadata.name));
  }

  async #untilDone(task: () => Promise<void>, name: string): Promise<void> {
    const { timers, log } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await task();
        return;
      } catch (error) {
        if (signal.aborted) return;
        log.warn("cannot update a definition, retrying", { name, error });
      }
      // The condition of the loop checks the signal.
      await timers.sleep(retryMs, signal).catch(() => undefined);
    }
  }

  async #establish(definition: KubeObject): Promise<void> {
    const { timers, establishingDelayMs } = this.#options;
    if (establishingDelayMs > 0) await timers.sleep(establishingDelayMs, this.#stopping.signal);
    await this.#update(definition, (current) => {
      if (!isUnestablished(current)) return current;
      const established = {
        type: "Established",
        status: "True",
        reason: "InitialNamesAccepted",
        message: "the initial names have been accepted",
      };
      return withCondition(current, established, this.#now);
    });
  }

  async #finalize(definition: KubeObject, kind: ResourceKind | undefined): Promise<void> {
    const { backend, timers } = this.#options;
    const begun = terminating(
      "True",
      "InstanceDeletionInProgress",
      "CustomResource deletion is in progress",
    );
    await this.#update(definition, (current) => withCondition(current, begun, this.#now));
    const wasServed = isTrue(definition, "Established") && kind !== undefined;
    const outcome = wasServed
      ? await deleteInstances({ backend, timers, kind, signal: this.#stopping.signal })
      : terminating("False", "NeverEstablished", "resource was never established");
    if (outcome.status === "True") {
      await this.#update(definition, (current) => withCondition(current, outcome, this.#now));
      throw new Error(outcome.message);
    }
    await this.#release(definition, outcome);
  }

  /** Removes the finalizer, and the definition if it has no other. */
  async #release(definition: KubeObject, outcome: ConditionUpdate): Promise<void> {
    const { backend } = this.#options;
    const kind = customResourceDefinitionKind;
    const { name } = definition.metadata;
    const released = await this.#update(definition, (current) => {
      const left = (current.metadata.finalizers ?? []).filter((one) => one !== cleanupFinalizer);
      const { finalizers: _, ...metadata } = current.metadata;
      const kept = left.length === 0 ? metadata : { ...metadata, finalizers: left };
      return withCondition({ ...current, metadata: kept }, outcome, this.#now);
    });
    if (released === undefined || (released.metadata.finalizers ?? []).length > 0) return;
    await ignoring(
      ["NotFound", "Conflict"],
      removeObject(backend, { kind, namespace: undefined, name }, released),
    );
  }

  /** Undefined when it was deleted, or replaced by another of the same name. */
  async #update(
    definition: KubeObject,
    change: (current: KubeObject) => KubeObject,
  ): Promise<KubeObject | undefined> {
    const store = this.#options.backend.store(customResourceDefinitionKind);
    const { name, uid } = definition.metadata;
    const updated = await ignoring(
      ["NotFound", "Conflict"],
      store.update(undefined, name, (current) =>
        current.metadata.uid === uid ? change(current) : current,
      ),
    );
    return updated?.object.metadata.uid === uid ? updated?.object : undefined;
  }
}

function terminating(status: "True" | "False", reason: string, message: string): ConditionUpdate {
  return { type: "Terminating", status, reason, message };
}

function isBeingDeleted({ metadata }: KubeObject): boolean {
  const isHeld = metadata.finalizers?.includes(cleanupFinalizer) === true;
  return metadata.deletionTimestamp !== undefined && isHeld;
}

function isUnestablished(definition: KubeObject): boolean {
  return isTrue(definition, "NamesAccepted") && !isTrue(definition, "Established");
}

function isSet(definition: KubeObject, condition: ConditionUpdate): boolean {
  const old = conditionOf(definition, condition.type);
  return (
    old?.status === condition.status &&
    old.reason === condition.reason &&
    old.message === condition.message
  );
}

/** Another server may have written or deleted the object first. */
async function ignoring<T>(
  reasons: readonly ("NotFound" | "Conflict")[],
  write: Promise<T>,
): Promise<T | undefined> {
  try {
    return await write;
  } catch (error) {
    if (error instanceof ApiError && reasons.some((one) => one === error.reason)) return undefined;
    throw error;
  }
}

/**
 * Deletes all objects of a definition and waits until they are gone; some have finalizers. Returns the
 * condition Terminating: True when objects are left.
 */
async function deleteInstances(options: {
  readonly backend: Backend;
  readonly timers: Timers;
  readonly kind: ResourceKind;
  readonly signal: AbortSignal;
}): Promise<ConditionUpdate> {
  const { backend, timers, kind, signal } = options;
  const deletion = readDeleteOptions(undefined, new URLSearchParams());
  for (const { metadata } of await instancesOf(backend, kind)) {
    const { namespace, name } = metadata;
    await ignoring(["NotFound"], deleteObject(backend, { kind, namespace, name }, deletion));
  }
  const { clock }: { clock: Clock } = backend;
  const startedAt = clock.monotonicMs();
  while ((await instancesOf(backend, kind)).length > 0) {
    if (elapsedMs(startedAt, clock.monotonicMs()) >= waitMs) {
      return terminating(
        "True",
        "InstanceDeletionCheck",
        "could not confirm zero CustomResources remaining: context deadline exceeded",
      );
    }
    await timers.sleep(pollMs, signal);
  }
  return terminating("False", "InstanceDeletionCompleted", "removed all instances");
}

async function instancesOf(backend: Backend, kind: ResourceKind): Promise<readonly KubeObject[]> {
  const { items } = await backend.store(kind).list({ namespace: undefined, matches: undefined });
  return items.map((item) => item.object);
}
