// Applies one write. The API server's answer is stored at once: the object as it is now, or, after
// a conflict, the object as another writer left it.
import { Registry } from "prom-client";
import type { SyncedKind, SyncWrite } from "../../decide/syncing/sync-write.ts";
import type { Log } from "../../environment/log.ts";
import {
  type KubeClient,
  type KubeRequest,
  parseJson,
  StatusError,
} from "../../kube/client/client.ts";
import { endpointSliceKind } from "../../kube/kinds/endpoint-slice.ts";
import { endpointsKind } from "../../kube/kinds/endpoints.ts";
import { ingressKind } from "../../kube/kinds/ingress.ts";
import { collectionPath, objectPath, type ResourcePlace } from "../../kube/kinds/kind.ts";
import { namespaceKind } from "../../kube/kinds/namespace.ts";
import { secretKind } from "../../kube/kinds/secret.ts";
import { serviceKind } from "../../kube/kinds/service.ts";
import { serviceImportKind } from "../../kube/kinds/service-import.ts";
import { isNotPermitted } from "../../kube/workqueue/workqueue-workers.ts";
import { type SyncMetrics, syncMetrics } from "./sync-metrics.ts";
import type { SyncTarget } from "./sync-target.ts";

/** Takes note of answers, so that the next plan knows them before the watch shows them. */
export interface WrittenCollection {
  readonly kind: ResourcePlace;
  /** Returns the object's version. */
  note(raw: unknown): string;
  noteGone(namespace: string, name: string): void;
}

export interface SyncWriterOptions {
  readonly client: KubeClient;
  readonly target: {
    readonly cluster: string;
    /** Without one for a kind that is only deleted, by its name. */
    readonly collections: Partial<Readonly<Record<SyncedKind, WrittenCollection>>>;
    readonly imports?: SyncTarget["imports"];
  };
  readonly log: Log;
  readonly metrics?: Registry;
}

/** The object differs from the planned one. It has been read again: plan again. */
export class SyncConflictError extends Error {
  override readonly name = "SyncConflictError";
  readonly code = "SYNC_CONFLICT";
}

/** Of one request, the wait for our own rate limit included. */
const requestDeadlineMs = 30_000;

export class SyncWriter {
  readonly #options: SyncWriterOptions;
  readonly #metrics: SyncMetrics;

  constructor(options: SyncWriterOptions) {
    this.#options = options;
    this.#metrics = syncMetrics(options.metrics ?? new Registry());
  }

  /** Rejects with a `SyncConflictError` when a new plan may succeed at once. */
  async apply(write: SyncWrite, signal: AbortSignal): Promise<void> {
    const { client, target } = this.#options;
    const collection = this.#collection(write);
    const limits = { deadlineMs: requestDeadlineMs, signal };
    const labels = { target: target.cluster, kind: write.kind };
    try {
      const answer = await client.request({ ...writeRequest(write, collection?.kind), ...limits });
      this.#metrics.writes.inc({ ...labels, type: write.type });
      if (write.type === "delete") collection?.noteGone(write.namespace, write.name);
      else if (collection !== undefined)
        this.#noteVersion(write, collection.note(parseJson(answer)));
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      if (write.kind === "ServiceImport" && isNotPermitted(error)) {
        target.imports?.noteForbidden();
        throw new SyncConflictError(error.message, { cause: error });
      }
      if (!wasTooLate(error)) throw error;
      this.#metrics.conflicts.inc(labels);
      await this.#readAgain(write, limits);
      const isGoneAnyway = write.type === "delete" && error.code === 404;
      if (!isGoneAnyway) throw new SyncConflictError(error.message, { cause: error });
    }
  }

  #collection({ kind }: SyncWrite): WrittenCollection | undefined {
    const { target } = this.#options;
    return kind === "ServiceImport" ? target.imports?.collection : target.collections[kind];
  }

  #noteVersion(write: SyncWrite, version: string): void {
    if (write.type !== "update" || write.resourceVersion !== version) return;
    const { target, log } = this.#options;
    const { kind, namespace, name, summary } = write;
    this.#metrics.noopWrites.inc({ target: target.cluster, kind });
    log.warn("a write changed nothing (no-op)", { kind, namespace, object: name, summary });
  }

  async #readAgain(
    write: SyncWrite,
    limits: Pick<KubeRequest, "deadlineMs" | "signal">,
  ): Promise<void> {
    const { client } = this.#options;
    const collection = this.#collection(write);
    if (collection === undefined) return;
    const path = objectPath(collection.kind, write);
    try {
      const answer = await client.request({ verb: "get", method: "GET", path, ...limits });
      collection.note(parseJson(answer));
    } catch (error) {
      if (!(error instanceof StatusError && error.code === 404)) throw error;
      collection.noteGone(write.namespace, write.name);
    }
  }
}

/** Conflict, already there, or not there any more. */
function wasTooLate({ code }: StatusError): boolean {
  return code === 409 || code === 404;
}

const kinds = {
  Namespace: namespaceKind,
  Service: serviceKind,
  EndpointSlice: endpointSliceKind,
  Endpoints: endpointsKind,
  Ingress: ingressKind,
  Secret: secretKind,
  ServiceImport: serviceImportKind("v1beta1"),
} as const;

/** With the kind as the target serves it, where that has several versions. */
export function writeRequest(write: SyncWrite, served?: ResourcePlace): KubeRequest {
  const kind = served ?? kinds[write.kind];
  switch (write.type) {
    case "create":
      return {
        verb: "create",
        method: "POST",
        path: collectionPath(kind, write.namespace),
        body: write.object,
      };
    case "update":
      return {
        verb: "patch",
        method: "PATCH",
        path: objectPath(kind, write, write.subresource),
        body: write.patch,
        contentType: "application/merge-patch+json",
      };
    case "delete": {
      const { uid, resourceVersion } = write;
      const preconditions = uid === undefined ? {} : { preconditions: { uid, resourceVersion } };
      return {
        verb: "delete",
        method: "DELETE",
        path: objectPath(kind, write),
        body: { apiVersion: "v1", kind: "DeleteOptions", ...preconditions },
      };
    }
  }
}
