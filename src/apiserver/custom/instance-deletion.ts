// Deletes all objects of a definition that is on its way out, and waits until they are gone: some
// have finalizers of their own.
import { type Clock, elapsedMs } from "../../environment/clock.ts";
import type { Timers } from "../../environment/timers.ts";
import { ApiError } from "../api-error.ts";
import type { ResourceKind } from "../kinds/resource-kind.ts";
import type { KubeObject } from "../kube-object.ts";
import type { Backend } from "../verbs/backend.ts";
import { deleteObject, readDeleteOptions } from "../verbs/delete.ts";
import type { Condition } from "./definition.ts";

/** pkg/controller/finalizer: how often it looks, and how long before it begins again. */
const pollMs = 5000;
const waitMs = 60_000;

/** The condition Terminating after it: True when something is left. */
export async function deleteInstances(options: {
  readonly backend: Backend;
  readonly timers: Timers;
  readonly kind: ResourceKind;
  readonly signal: AbortSignal;
}): Promise<Omit<Condition, "lastTransitionTime">> {
  const { backend, timers, kind, signal } = options;
  const deletion = readDeleteOptions(undefined, new URLSearchParams());
  for (const { metadata } of await instancesOf(backend, kind)) {
    const { namespace, name } = metadata;
    await ignoreNotFound(deleteObject(backend, { kind, namespace, name }, deletion));
  }
  const { clock }: { clock: Clock } = backend;
  const startedAt = clock.monotonicMs();
  while ((await instancesOf(backend, kind)).length > 0) {
    if (elapsedMs(startedAt, clock.monotonicMs()) >= waitMs) {
      return {
        type: "Terminating",
        status: "True",
        reason: "InstanceDeletionCheck",
        message: "could not confirm zero CustomResources remaining: context deadline exceeded",
      };
    }
    await timers.sleep(pollMs, signal);
  }
  return {
    type: "Terminating",
    status: "False",
    reason: "InstanceDeletionCompleted",
    message: "removed all instances",
  };
}

async function instancesOf(backend: Backend, kind: ResourceKind): Promise<readonly KubeObject[]> {
  const { items } = await backend.store(kind).list({ namespace: undefined, matches: undefined });
  return items.map((item) => item.object);
}

async function ignoreNotFound(deletion: Promise<unknown>): Promise<void> {
  try {
    await deletion;
  } catch (error) {
    if (!(error instanceof ApiError) || error.reason !== "NotFound") throw error;
  }
}
