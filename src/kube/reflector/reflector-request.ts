// The requests a reflector makes of one collection: pages of a list, a watch, and the smallest
// possible quorum read.
import type { KubeRequest } from "../client/client.ts";
import { collectionPath, type ResourcePlace } from "../kinds/kind.ts";

/** kubectl's and client-go's page: small enough to parse in some 15 ms, one block of the loop. */
export const listPageSize = 500;
/** The server gives up on a request after a minute by itself. */
export const listDeadlineMs = 60_000;
/** A read that takes longer than this says nothing useful about now. */
export const quorumReadDeadlineMs = 10_000;

export interface CollectionOptions {
  readonly place: ResourcePlace;
  /** All namespaces when undefined. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

export class Collection {
  readonly #path: string;
  readonly #selectors: Readonly<Record<string, string>>;

  constructor(options: CollectionOptions) {
    this.#path = collectionPath(options.place, options.namespace);
    this.#selectors = {
      ...(options.labelSelector === undefined ? {} : { labelSelector: options.labelSelector }),
      ...(options.fieldSelector === undefined ? {} : { fieldSelector: options.fieldSelector }),
    };
  }

  firstPage(notOlderThan: string | undefined, signal: AbortSignal): KubeRequest {
    return this.#list({ limit: String(listPageSize), ...atLeast(notOlderThan) }, signal);
  }

  /** The token says where to go on and at which version, so no version may be given with it. */
  nextPage(token: string, signal: AbortSignal): KubeRequest {
    return this.#list({ limit: String(listPageSize), continue: token }, signal);
  }

  /** Everything in one answer, however long. */
  whole(notOlderThan: string | undefined, signal: AbortSignal): KubeRequest {
    return this.#list(atLeast(notOlderThan), signal);
  }

  quorumRead(signal: AbortSignal): KubeRequest {
    return { ...this.#list({ limit: "1" }, signal), deadlineMs: quorumReadDeadlineMs };
  }

  watchPath(resourceVersion: string, timeoutSeconds: number): string {
    return this.#url({ ...watchQuery(timeoutSeconds), resourceVersion });
  }

  /** A watch that first sends the whole collection, then a bookmark that says so. */
  watchListPath(notOlderThan: string | undefined, timeoutSeconds: number): string {
    return this.#url({
      ...watchQuery(timeoutSeconds),
      sendInitialEvents: "true",
      resourceVersionMatch: "NotOlderThan",
      ...(notOlderThan === undefined ? {} : { resourceVersion: notOlderThan }),
    });
  }

  #list(query: Readonly<Record<string, string>>, signal: AbortSignal): KubeRequest {
    return {
      verb: "list",
      method: "GET",
      path: this.#url(query),
      deadlineMs: listDeadlineMs,
      signal,
    };
  }

  #url(query: Readonly<Record<string, string>>): string {
    return `${this.#path}?${new URLSearchParams({ ...query, ...this.#selectors }).toString()}`;
  }
}

function watchQuery(timeoutSeconds: number): Readonly<Record<string, string>> {
  return { watch: "true", allowWatchBookmarks: "true", timeoutSeconds: String(timeoutSeconds) };
}

function atLeast(notOlderThan: string | undefined): Readonly<Record<string, string>> {
  return notOlderThan === undefined
    ? {}
    : { resourceVersion: notOlderThan, resourceVersionMatch: "NotOlderThan" };
}
