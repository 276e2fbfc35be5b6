// How a node stays believed: it registers once, renews its Lease every ten seconds, and posts its
// status when that differs from the API server's or has not been posted for five minutes. A pause
// stops both and nothing else, as on a machine too busy to report. A node that somebody deletes is
// not registered again: such a machine goes on running pods that no cluster knows.
import { type Clock, elapsedMs, type MonotonicMs, toMicroTime } from "../../environment/clock.ts";
import type { Log } from "../../environment/log.ts";
import { jitter, type Random } from "../../environment/random.ts";
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
import { type NodeFacts, nodeObject, nodeStatus, saysTheSame } from "./node-object.ts";

export interface NodeHeartbeatOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  readonly client: KubeClient;
  readonly node: NodeFacts;
}

/** Lease and status, the kubelet's defaults since leases exist (pkg/kubelet, 1.33). */
const leaseEveryMs = 10_000;
const leaseDurationSeconds = 40;
const statusEveryMs = 10_000;
const unchangedStatusEveryMs = 300_000;

/** Heartbeats of nodes that started together drift apart. */
const jitterFactor = 0.04;

/** A heartbeat that takes longer than the time to the next is given up. */
const requestDeadlineMs = 10_000;

/** Until the first registration; an API server that starts later is met soon. */
const registerRetryMs = 1_000;

export class NodeHeartbeat {
  readonly #options: NodeHeartbeatOptions;
  #isPaused = false;
  /** The Lease as the API server has it; undefined when that is not known. */
  #lease: RawRecord | undefined;
  #postedAt: MonotonicMs | undefined;

  constructor(options: NodeHeartbeatOptions) {
    this.#options = options;
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
        // It is back: the next status says so.
        if (error instanceof StatusError && error.code === 409) return;
        if (signal.aborted) throw error;
        log.debug("the node could not be registered yet", { node: node.name, error });
        await timers.sleep(registerRetryMs, signal);
      }
    }
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#repeat("renew the node's lease", leaseEveryMs, () => this.#renew(signal), signal),
      this.#repeat("post the node's status", statusEveryMs, () => this.#post(signal), signal),
    ]);
  }

  async #repeat(
    what: string,
    everyMs: number,
    beat: () => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const { timers, random, log, node } = this.#options;
    while (!signal.aborted) {
      try {
        if (!this.#isPaused) await beat();
      } catch (error) {
        if (!signal.aborted) log.warn(`could not ${what}`, { node: node.name, error });
      }
      await untilAborted(timers.sleep(jitter(random, everyMs, jitterFactor), signal), signal);
    }
  }

  async #renew(signal: AbortSignal): Promise<void> {
    try {
      const lease = this.#lease ?? (await this.#readOrMakeLease(signal));
      const spec = { ...recordAt(lease, "spec"), ...this.#leaseSpec() };
      this.#lease = await this.#send("PUT", this.#leasePath(), { ...lease, spec }, signal);
    } catch (error) {
      // Somebody else wrote it, or it is gone: the next beat begins with reading it.
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
    if (saysTheSame(held, own) && !this.#isStatusDue()) return;
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

/** The same wait, ended rather than failed by the signal. */
async function untilAborted(wait: Promise<void>, signal: AbortSignal): Promise<void> {
  try {
    await wait;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
