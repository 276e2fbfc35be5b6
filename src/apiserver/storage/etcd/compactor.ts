// Forgets old versions, as kube-apiserver does: every five minutes one of the servers on an etcd
// compacts it to where it was five minutes before. The version of one key decides which server does
// it. The real server uses the same key, so both may share an etcd.
import type { Log } from "../../../environment/log.ts";
import type { Timers } from "../../../environment/timers.ts";
import { listAt, recordAt, requiredRecord } from "../../../kube/kinds/fields.ts";
import { compactionIntervalMs } from "../memory-storage.ts";
import type { EtcdGateway } from "./etcd-gateway.ts";
import { EtcdRefusal } from "./etcd-refusal.ts";
import { base64, headerRevision, wholeNumberAt } from "./etcd-wire.ts";

export interface CompactorOptions {
  readonly gateway: EtcdGateway;
  readonly timers: Timers;
  readonly log: Log;
  readonly compactEveryMs?: number;
}

/** `compactRevKey` in k8s.io/apiserver/pkg/storage/etcd3/compact.go. */
const agreedKey = base64("compact_rev_key");

export class Compactor {
  readonly #options: CompactorOptions;
  /** The key's version as this server last saw it. A server that finds it unchanged may compact. */
  #version = 0;
  /** Where etcd was then. */
  #revision = 0;

  constructor(options: CompactorOptions) {
    this.#options = options;
  }

  /** Until the gateway stops. Never rejects. */
  async run(): Promise<void> {
    const { gateway, timers, log, compactEveryMs = compactionIntervalMs } = this.#options;
    if (compactEveryMs === 0) return;
    for (;;) {
      // The next line sees the abort.
      await timers.sleep(compactEveryMs, gateway.stopping).catch(() => undefined);
      if (gateway.stopping.aborted) return;
      try {
        await this.#round();
      } catch (error) {
        if (!gateway.stopping.aborted) log.warn("Compacting etcd failed.", { error });
      }
    }
  }

  async #round(): Promise<void> {
    const { gateway } = this.#options;
    const version = String(this.#version);
    const value = base64(String(this.#revision));
    const body = {
      compare: [{ key: agreedKey, target: "VERSION", result: "EQUAL", version }],
      success: [{ request_put: { key: agreedKey, value } }],
      failure: [{ request_range: { key: agreedKey } }],
    };
    const answer = await gateway.call({ path: "kv/txn", body, kind: "write" });
    const compactTo = this.#revision;
    this.#revision = headerRevision(answer);
    if (answer["succeeded"] !== true) {
      const range = recordAt(
        requiredRecord(listAt(answer, "responses")[0], "response"),
        "response_range",
      );
      this.#version = wholeNumberAt(requiredRecord(listAt(range, "kvs")[0], "key"), "version");
      return;
    }
    this.#version += 1;
    if (compactTo === 0) return;
    await this.#compact(compactTo);
  }

  async #compact(revision: number): Promise<void> {
    const { gateway, log } = this.#options;
    try {
      const body = { revision: String(revision) };
      await gateway.call({ path: "kv/compaction", body, kind: "write" });
      log.debug("etcd was compacted", { revision });
    } catch (error) {
      // Another server has compacted this far already.
      if (!(error instanceof EtcdRefusal) || !error.isCompacted) throw error;
    }
  }
}
