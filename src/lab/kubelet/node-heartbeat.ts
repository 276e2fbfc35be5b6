// The heartbeats of a node. It registers once, renews its Lease every ten seconds, and posts its status
// when that differs from the API server's or was not posted for five minutes; before Leases, each time.
// A pause stops both and nothing else. Gaps make both late, as on an overloaded machine. A deleted Node
// is not registered again: such a machine continues to run pods that no cluster knows.
import { type Clock, elapsedMs, type MonotonicMs, toMicroTime } from "../../environment/clock.ts";
import type { Log } from "../../environment/log.ts";
import type { Random } from "../../environment/random.ts";
import type { Timers } from "../../environment/timers.ts";
import { type KubeClient, parseJson, StatusError } from "../../kube/client/client.ts";
import {
  type RawRecord,
  recordAt,
  requiredRecord,
  requiredString,
} from "../../kube/kinds/fields.ts";
import { collectionPath, objectPath } from "../../kube/kinds/kind.ts";
import { leaseKind } from "../../kube/kinds/lease.ts";
import { nodeKind } from "../../kube/kinds/node.ts";
import { type Beat, checkGaps, drawGapMs, type HeartbeatGaps } from "./heartbeat-gaps.ts";
import { type NodeFacts, nodeObject, nodeStatus, saysTheSame } from "./node-object.ts";

export interface NodeHeartbeatOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  readonly client: KubeClient;
  readonly node: NodeFacts;
  /** Timely unless given. */
  readonly gaps?: HeartbeatGaps;
}

/** The kubelet's defaults since leases exist (pkg/kubelet, 1.33). */
const leaseDurationSeconds = 40;
const unchangedStatusEveryMs = 300_000;

/** A heartbeat that takes longer than the time to the next is given up. */
const requestDeadlineMs = 10_000;

/** Until the first registration; an API server that starts later is met soon. */
const registerRetryMs = 1_000;

export class NodeHeartbeat {
  readonly #options: NodeHeartbeatOptions;
  #isPaused = false;
  #gaps: HeartbeatGaps;
  /** Each ends the wait for the next beat, which starts again. */
  readonly #waits = new Set<() => void>();
  /** The Lease as the API server has it; undefined when that is not known. */
  #lease: RawRecord | undefined;
  #postedAt: MonotonicMs | undefined;

  constructor(options: NodeHeartbeatOptions) {
    this.#options = options;
    this.#gaps = options.gaps ?? {};
    checkGaps(this.#gaps);
  }

  /** From now on beats come so late; one that is being waited for, too. */
  setGaps(gaps: HeartbeatGaps): void {
    checkGaps(gaps);
    this.#gaps = gaps;
    for (const end of this.#waits) end();
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
  }

  /** Resolves when the API server has the node; rejects when the signal aborts before. */
  async register(signal: AbortSignal): Promise<void> {
    const { clock, timers, log, node } = this.#options;
    for (;;) {
      try {
        const path = collectionPath(nodeKind);
        await this.#send("POST", path, nodeObject(node, clock.wallMs()), signal);
        this.#postedAt = clock.monotonicMs();
        return;
      } catch (error) {
        // It is back: the next status reports it.
        if (error instanceof StatusError && error.code === 409) return;
        if (signal.aborted) throw error;
        log.debug("the node could not be registered yet", { node: node.name, error });
        await timers.sleep(registerRetryMs, signal);
      }
    }
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { leases } = this.#options.node.rules;
    await Promise.all([
      ...(leases ? [this.#repeat("lease", () => this.#renew(signal), signal)] : []),
      this.#repeat("status", () => this.#post(signal), signal),
    ]);
  }

  async #repeat(beat: Beat, act: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const { log, node } = this.#options;
    while (!signal.aborted) {
      try {
        if (!this.#isPaused) await act();
      } catch (error) {
        if (!signal.aborted) log.warn("a heartbeat failed", { beat, node: node.name, error });
      }
      while (await this.#isCutShort(beat, signal));
    }
  }

  /** Waits for the next beat; true when the gaps were changed meanwhile. */
  #isCutShort(beat: Beat, signal: AbortSignal): Promise<boolean> {
    const { timers, random } = this.#options;
    if (signal.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const end = (isCutShort: boolean): void => {
        cancel();
        this.#waits.delete(cutShort);
        signal.removeEventListener("abort", stop);
        resolve(isCutShort);
      };
      const cutShort = (): void => end(true);
      const stop = (): void => end(false);
      const cancel = timers.after(drawGapMs(this.#gaps, beat, random), () => end(false));
      this.#waits.add(cutShort);
      signal.addEventListener("abort", stop, { once: true });
    });
  }

  async #renew(signal: AbortSignal): Promise<void> {
    try {
      const lease = this.#lease ?? (await this.#readOrMakeLease(signal));
      const spec = { ...recordAt(lease, "spec"), ...this.#leaseSpec() };
      this.#lease = await this.#send("PUT", this.#leasePath(), { ...lease, spec }, signal);
    } catch (error) {
      // Another writer changed it, or it is gone: the next beat reads it first.
      this.#lease = undefined;
      throw error;
    }
  }

  async #readOrMakeLease(signal: AbortSignal): Promise<RawRecord> {
    try {
      return await this.#send("GET", this.#leasePath(), undefined, signal);
    } catch (error) {
      if (!(error instanceof StatusError && error.code === 404)) throw error;
    }
    const { name } = this.#options.node;
    const node = await this.#readNode(signal);
    const uid = requiredString(requiredRecord(node["metadata"], "metadata"), "uid");
    const lease = {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name, ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid }] },
      spec: this.#leaseSpec(),
    };
    return this.#send("POST", collectionPath(leaseKind, leaseNamespace), lease, signal);
  }

  #leaseSpec(): RawRecord {
    const { clock, node } = this.#options;
    const renewTime = toMicroTime(clock.wallMs());
    return { holderIdentity: node.name, leaseDurationSeconds, renewTime };
  }

  #leasePath(): string {
    return objectPath(leaseKind, { namespace: leaseNamespace, name: this.#options.node.name });
  }

  async #post(signal: AbortSignal): Promise<void> {
    const { clock, node } = this.#options;
    const held = recordAt(await this.#readNode(signal), "status");
    const own = nodeStatus(node, held, clock.wallMs());
    if (node.rules.leases && saysTheSame(held, own) && !this.#isStatusDue()) return;
    const path = objectPath(nodeKind, { namespace: "", name: node.name }, "status");
    await this.#send("PATCH", path, { status: own }, signal);
    this.#postedAt = clock.monotonicMs();
  }

  #isStatusDue(): boolean {
    const now = this.#options.clock.monotonicMs();
    return this.#postedAt === undefined || elapsedMs(this.#postedAt, now) >= unchangedStatusEveryMs;
  }

  /** From the server's cache: a heartbeat must not cost a quorum read. */
  #readNode(signal: AbortSignal): Promise<RawRecord> {
    const path = objectPath(nodeKind, { namespace: "", name: this.#options.node.name });
    return this.#send("GET", `${path}?resourceVersion=0`, undefined, signal);
  }

  async #send(
    method: keyof typeof verbs,
    path: string,
    body: RawRecord | undefined,
    signal: AbortSignal,
  ): Promise<RawRecord> {
    const response = await this.#options.client.request({
      verb: verbs[method],
      method,
      path,
      ...(body === undefined ? {} : { body }),
      ...(method === "PATCH" ? { contentType: "application/strategic-merge-patch+json" } : {}),
      deadlineMs: requestDeadlineMs,
      signal,
    });
    return requiredRecord(parseJson(response), "the answer");
  }
}

const verbs = { GET: "get", POST: "create", PUT: "update", PATCH: "patch" } as const;

const leaseNamespace = "kube-node-lease";
