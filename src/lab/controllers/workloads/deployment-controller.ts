// The Deployment controller: one ReplicaSet per template, pods moved from the old ones to the new
// one within the limits of the strategy. New sets have names made from their template and every
// other write carries a version, so a stale cache leads to a conflict and never to double work.

import { type KubeClient, parseJson, StatusError } from "../../../kube/client/client.ts";
import { type RawRecord, recordAt } from "../../../kube/kinds/fields.ts";
import { collectionPath, objectKey, objectPath, splitObjectKey } from "../../../kube/kinds/kind.ts";
import type { Workqueue } from "../../../kube/workqueue/workqueue.ts";
import type { Profile } from "../../versions/profile.ts";
import { type ControllerOptions, controllerQueue, runController } from "../controller.ts";
import { EventRecorder, referenceTo } from "../event-recorder.ts";
import { isTerminal } from "../owned-pod.ts";
import {
  controllerOf,
  numberIn,
  type Revision,
  revised,
  type WholeKind,
  type WholeObject,
  wholeDeployments,
  wholeReplicaSets,
} from "../whole-object.ts";
import {
  limitsOf,
  newSetBody,
  newSetOf,
  oldestFirst,
  revisionAnnotation,
  revisionOf,
  sharedAnnotations,
  sizeAnnotations,
  sizeOf,
  wasScaled,
} from "./deployment-sets.ts";
import { deploymentStatus } from "./deployment-status.ts";
import { newSetSize, oldSetSizes, proportionalSizes } from "./rollout.ts";

/** Runs until the signal aborts. */
export async function runDeploymentController(
  options: ControllerOptions,
  signal: AbortSignal,
): Promise<void> {
  const { informers, flags } = options;
  const queue = controllerQueue(options, "deployment");
  const addOwner = (set: WholeObject): void => {
    const owner = controllerOf(set);
    const { namespace } = set.metadata;
    if (owner?.kind === "Deployment") queue.add(objectKey({ namespace, name: owner.name }));
  };
  informers.deployments().onChange(({ object }) => queue.add(objectKey(object.metadata)));
  informers.replicaSets().onChange(({ object }) => addOwner(object));
  // Recreate waits for the last old pod to be gone.
  informers.pods().onChange(({ type, object }) => {
    const owner = type === "deleted" ? controllerOf(object) : undefined;
    if (owner?.kind !== "ReplicaSet") return;
    const set = informers.replicaSets().store.get(object.metadata.namespace, owner.name);
    if (set !== undefined) addOwner(set);
  });
  const component = "deployment-controller";
  const events = new EventRecorder({ ...options, component, logger: component, signal });
  await runController(
    options,
    {
      name: "deployment-controller",
      failure: {
        source: "deployment_controller.go:535",
        key: "deployment",
        retrying: "Error syncing deployment",
        dropped: "Dropping deployment out of the queue",
        verbosity: 2,
      },
      queue,
      workers: flags["concurrent-deployment-syncs"],
      sync: async (key, stop) => {
        const rollout = rolloutOf({ ...options, events }, key, stop);
        if (rollout === undefined) return;
        const { created, deployment } = await roll(options, rollout);
        await writeStatus(options, { ...rollout, deployment }, created, queue);
      },
    },
    signal,
  );
  await events.settled();
}

/** The input of one sync. */
interface Rollout {
  readonly deployment: WholeObject;
  /** Oldest first, the new one included. */
  readonly sets: readonly WholeObject[];
  readonly newSet: WholeObject | undefined;
  readonly old: readonly WholeObject[];
  readonly writes: DeploymentWrites;
}

/** The result of a step: whether it created a set, and the Deployment as it is now. */
interface Step {
  readonly created: boolean;
  readonly deployment: WholeObject;
}

function rolloutOf(
  { informers, client, profile, events }: ControllerOptions & { readonly events: EventRecorder },
  key: string,
  signal: AbortSignal,
): Rollout | undefined {
  const { namespace, name } = splitObjectKey(key);
  const deployment = informers.deployments().store.get(namespace, name);
  if (deployment === undefined) return undefined;
  const { uid } = deployment.metadata;
  const sets = oldestFirst(informers.replicaSets().store.byIndex("owner", uid));
  const newSet = newSetOf(deployment, sets);
  const old = sets.filter((set) => set !== newSet);
  const writes = new DeploymentWrites({ client, profile, events, signal });
  return { deployment, sets, newSet, old, writes };
}

/** One step forward; the watch of what it changed brings the next. */
async function roll(options: ControllerOptions, rollout: Rollout): Promise<Step> {
  const { deployment, sets, old, newSet, writes } = rollout;
  const nothing = { created: false, deployment };
  if (deployment.metadata.deletionTimestamp !== undefined) return nothing;
  const spec = recordAt(deployment.raw, "spec");
  if (spec["paused"] === true || sets.some((set) => wasScaled(deployment, set))) {
    await rescale(rollout);
    return nothing;
  }
  if (recordAt(spec, "strategy")["type"] === "Recreate") {
    const hasScaled = await scaleOld(
      rollout,
      old.map(() => 0),
    );
    if (hasScaled || hasOldPods(options, rollout)) return nothing;
  }
  const newest = Math.max(0, ...old.map(revisionOf)) + 1;
  const limits = limitsOf(deployment);
  const allWanted = sets.reduce((sum, set) => sum + sizeOf(set).wanted, 0);
  if (newSet === undefined) {
    const replicas = newSetSize(limits, { wanted: 0 }, allWanted);
    const body = newSetBody(deployment, { replicas, revision: newest, limits });
    await writes.createSet(deployment, body);
    return { created: true, deployment: await writes.markDeployment(deployment, newest) };
  }
  // A set whose template is back gets the newest number, and its size in the next step.
  const revision = Math.max(newest, revisionOf(newSet));
  const isNews = await writes.markSet(deployment, newSet, revision);
  const marked = { created: false, deployment: await writes.markDeployment(deployment, revision) };
  if (isNews) return marked;
  const size = newSetSize(limits, sizeOf(newSet), allWanted);
  if (await writes.scale(deployment, newSet, size)) return marked;
  const hasScaled = await scaleOld(rollout, oldSetSizes(limits, sizeOf(newSet), old.map(sizeOf)));
  if (!hasScaled) await forgetOldRevisions(rollout);
  return marked;
}

/** The Deployment was scaled: alone, the active set follows; in a rollout, each by its share. */
async function rescale({ deployment, sets, newSet, writes }: Rollout): Promise<void> {
  const limits = limitsOf(deployment);
  const active = sets.filter((set) => sizeOf(set).wanted > 0);
  const [only] = active.length === 0 && newSet !== undefined ? [newSet] : active;
  if (only !== undefined && active.length <= 1) {
    await writes.scale(deployment, only, limits.replicas);
    return;
  }
  const largestFirst = [...active].sort((one, other) => sizeOf(other).wanted - sizeOf(one).wanted);
  const sizes = proportionalSizes(limits, largestFirst.map(sizeOf));
  for (const [index, set] of largestFirst.entries()) {
    await writes.scale(deployment, set, sizes[index] ?? 0);
  }
}

/** True when one of them was changed. */
async function scaleOld(rollout: Rollout, sizes: readonly number[]): Promise<boolean> {
  const { deployment, old, writes } = rollout;
  let hasScaled = false;
  for (const [index, set] of old.entries()) {
    const size = sizes[index] ?? 0;
    if (size === sizeOf(set).wanted) continue;
    hasScaled = (await writes.scale(deployment, set, size)) || hasScaled;
  }
  return hasScaled;
}

function hasOldPods({ informers }: ControllerOptions, { old }: Rollout): boolean {
  const { store } = informers.pods();
  return old.some(({ metadata }) =>
    [...store.byIndex("owner", metadata.uid)].some((pod) => !isTerminal(pod)),
  );
}

/** Old sets without pods are kept for going back to, but only so many. */
async function forgetOldRevisions({ deployment, old, writes }: Rollout): Promise<void> {
  const idle = old.filter(
    (set) =>
      sizeOf(set).wanted === 0 &&
      numberIn(set, "status", "replicas") === 0 &&
      set.metadata.deletionTimestamp === undefined,
  );
  const surplus = idle.length - numberIn(deployment, "spec", "revisionHistoryLimit");
  for (const set of idle.slice(0, Math.max(0, surplus))) await writes.deleteSet(set);
}

async function writeStatus(
  { clock }: ControllerOptions,
  { deployment, sets, newSet, writes }: Rollout,
  created: boolean,
  queue: Workqueue,
): Promise<void> {
  const limits = limitsOf(deployment);
  const now = clock.wallMs();
  const status = deploymentStatus({ deployment, newSet, sets, limits, created, now });
  if (status !== undefined) await writes.putStatus(deployment, status);
  const deadlineMs = numberIn(deployment, "spec", "progressDeadlineSeconds") * 1000;
  const isWaiting = newSet === undefined || sizeOf(newSet).available < limits.replicas;
  // Nothing may happen any more, and that is to be noticed too.
  if (isWaiting && deadlineMs > 0) queue.addAfter(objectKey(deployment.metadata), deadlineMs);
}

interface DeploymentWritesOptions {
  readonly client: KubeClient;
  readonly profile: Pick<Profile, "events">;
  readonly events: EventRecorder;
  readonly signal: AbortSignal;
}

class DeploymentWrites {
  readonly #client: KubeClient;
  readonly #signal: AbortSignal;
  readonly #options: DeploymentWritesOptions;

  constructor(options: DeploymentWritesOptions) {
    this.#client = options.client;
    this.#signal = options.signal;
    this.#options = options;
  }

  /** True when the number changed; the set's record of the Deployment is renewed in any case. */
  async scale(deployment: WholeObject, set: WholeObject, size: number): Promise<boolean> {
    const wanted = Object.entries(sizeAnnotations(limitsOf(deployment)));
    const isRecorded = wanted.every(([name, value]) => set.annotations[name] === value);
    const before = numberIn(set, "spec", "replicas");
    const isSize = size === before;
    if (isSize && isRecorded) return false;
    await this.#put(wholeReplicaSets, set, {
      annotations: { ...set.annotations, ...Object.fromEntries(wanted) },
      fields: { spec: { ...recordAt(set.raw, "spec"), replicas: size } },
    });
    if (!isSize) this.#tellScaled(deployment, set.metadata.name, before, size);
    return !isSize;
  }

  async createSet(deployment: WholeObject, body: RawRecord): Promise<void> {
    const path = collectionPath(wholeReplicaSets, deployment.metadata.namespace);
    const signal = this.#signal;
    try {
      const request = { verb: "create", method: "POST", path, body, signal } as const;
      const set = wholeReplicaSets.project(parseJson(await this.#client.request(request)));
      const size = numberIn(set, "spec", "replicas");
      if (size > 0) this.#tellScaled(deployment, set.metadata.name, 0, size);
    } catch (error) {
      // Made before, and the cache does not show it yet: its event brings us back.
      if (!(error instanceof StatusError && error.reason === "AlreadyExists")) throw error;
    }
  }

  async deleteSet({ metadata }: WholeObject): Promise<void> {
    const path = objectPath(wholeReplicaSets, metadata);
    const signal = this.#signal;
    await this.#client.request({ verb: "delete", method: "DELETE", path, signal });
  }

  /** Gives the set its number and what it shares with the Deployment; false when it has both. */
  async markSet(deployment: WholeObject, set: WholeObject, revision: number): Promise<boolean> {
    const shared = sharedAnnotations(deployment);
    const isShared = Object.entries(shared).every(
      ([name, value]) => set.annotations[name] === value,
    );
    if (isShared && revisionOf(set) === revision) return false;
    const annotations = { ...set.annotations, ...shared, [revisionAnnotation]: String(revision) };
    await this.#put(wholeReplicaSets, set, { annotations });
    return true;
  }

  /**
   * The Deployment as it is afterwards. Its number is written as part of its status, which leaves
   * the generation alone (sync.go getNewReplicaSet).
   */
  async markDeployment(deployment: WholeObject, revision: number): Promise<WholeObject> {
    if (revisionOf(deployment) === revision) return deployment;
    const annotations = { ...deployment.annotations, [revisionAnnotation]: String(revision) };
    return await this.#put(wholeDeployments, deployment, { annotations }, "status");
  }

  async putStatus(deployment: WholeObject, status: RawRecord): Promise<void> {
    await this.#put(wholeDeployments, deployment, { fields: { status } }, "status");
  }

  /** sync.go scaleReplicaSet. */
  #tellScaled(deployment: WholeObject, set: string, before: number, size: number): void {
    const { events, profile } = this.#options;
    const { workloadVersion, namesOldSize } = profile.events;
    const direction = before < size ? "up" : "down";
    const from = namesOldSize ? ` from ${before}` : "";
    events.record(referenceTo("Deployment", workloadVersion, deployment), {
      type: "Normal",
      reason: "ScalingReplicaSet",
      message: `Scaled ${direction} replica set ${set}${from} to ${size}`,
    });
  }

  async #put(
    kind: WholeKind,
    object: WholeObject,
    revision: Revision,
    subresource?: string,
  ): Promise<WholeObject> {
    const response = await this.#client.request({
      verb: "update",
      method: "PUT",
      path: objectPath(kind, object.metadata, subresource),
      body: revised(kind, object, revision),
      signal: this.#signal,
    });
    return kind.project(parseJson(response));
  }
}
