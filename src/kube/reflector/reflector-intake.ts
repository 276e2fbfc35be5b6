// Turns raw objects into stored ones. From the watch: one version replaces another, and the
// handlers are called. From a list: versions are collected in a replacement. In both cases a
// malformed object is left out and counted, and its last good version stays.
import { MalformedObjectError } from "../kinds/fields.ts";
import type { Kind, Projected } from "../kinds/kind.ts";
import { objectKey } from "../kinds/kind.ts";
import { identify, resourceVersionOf } from "../kinds/metadata.ts";
import type { Replacement, Store } from "../store/store.ts";
import { describeChange } from "../store/store-change.ts";
import type { LimitedLog } from "./limited-log.ts";
import type { ReflectorCounts } from "./reflector-counts.ts";
import type { Delivery } from "./reflector-delivery.ts";
import { hasReached, isOlder } from "./resource-version.ts";
import type { WatchEvent } from "./watch-decoder.ts";

export interface IntakeOptions<T extends Projected, I extends string> {
  readonly kind: Kind<T>;
  readonly store: Store<T, I>;
  readonly delivery: Delivery<T>;
  readonly counts: ReflectorCounts;
  readonly log: LimitedLog;
}

export class Intake<T extends Projected, I extends string> {
  readonly #kind: Kind<T>;
  readonly #store: Store<T, I>;
  readonly #delivery: Delivery<T>;
  readonly #counts: ReflectorCounts;
  readonly #log: LimitedLog;

  constructor(options: IntakeOptions<T, I>) {
    this.#kind = options.kind;
    this.#store = options.store;
    this.#delivery = options.delivery;
    this.#counts = options.counts;
    this.#log = options.log;
  }

  /**
   * Adds one object of a list and returns it for the next one to resemble: in a list, the pods of
   * a Deployment follow each other.
   */
  addListed(raw: unknown, replacement: Replacement<T, I>, similar?: T): T | undefined {
    const object = this.#project(raw, similar);
    const identity = object === undefined ? identify(raw) : undefined;
    if (object !== undefined) {
      replacement.add(object);
    } else if (identity !== undefined) {
      replacement.keep(identity.namespace, identity.name);
    }
    return object ?? similar;
  }

  /** One event of the initial part of a watch that begins with the whole collection. */
  addInitial(event: WatchEvent, replacement: Replacement<T, I>): void {
    const identity = event.type === "DELETED" ? identify(event.object) : undefined;
    if (identity !== undefined) {
      replacement.remove(identity.namespace, identity.name);
    } else if (event.type === "ADDED" || event.type === "MODIFIED") {
      this.addListed(event.object, replacement);
    }
  }

  /**
   * Applies one event after `reachedVersion` and returns the version the watch has now reached.
   * Older events were seen before, in a list or before a reconnect, and are skipped.
   */
  apply(event: WatchEvent, reachedVersion: string): string {
    switch (event.type) {
      case "ADDED":
      case "MODIFIED":
        return this.#put(event.object, reachedVersion);
      case "DELETED":
        return this.#delete(event.object, reachedVersion);
      case "BOOKMARK":
        return newer(resourceVersionOf(event.object), reachedVersion);
      default:
        return reachedVersion;
    }
  }

  #put(raw: unknown, reachedVersion: string): string {
    const identity = identify(raw);
    const known = identity && this.#store.get(identity.namespace, identity.name);
    const object = this.#project(raw, known);
    if (object === undefined) {
      return newer(resourceVersionOf(raw), reachedVersion);
    }
    const { resourceVersion } = object.metadata;
    if (hasReached(reachedVersion, resourceVersion)) {
      return reachedVersion;
    }
    if (known?.metadata.resourceVersion !== resourceVersion) {
      this.#store.set(object);
      describeChange(known, object, "watch", this.#delivery.deliver);
    }
    return resourceVersion;
  }

  /**
   * Old servers put the version of the last change into a deletion, not its own. So it counts as
   * long as the store has nothing newer under that name, and never takes the watch back.
   */
  #delete(raw: unknown, reachedVersion: string): string {
    const identity = identify(raw);
    if (identity === undefined) {
      this.#leaveOut(raw, new MalformedObjectError("a deletion should have a name"));
      return reachedVersion;
    }
    const version = resourceVersionOf(raw);
    const known = this.#store.get(identity.namespace, identity.name);
    if (
      known !== undefined &&
      (version === undefined || !isOlder(version, known.metadata.resourceVersion))
    ) {
      this.#store.delete(identity.namespace, identity.name);
      const final = this.#project(raw, known);
      this.#delivery.deliver({
        type: "deleted",
        object: final ?? known,
        finalStateUnknown: final === undefined,
        learntBy: "watch",
      });
    }
    return newer(version, reachedVersion);
  }

  #project(raw: unknown, similar: T | undefined): T | undefined {
    try {
      return this.#kind.project(raw, similar);
    } catch (error) {
      // Also a mistake in the projection itself: one object must not blind us to all others.
      this.#leaveOut(raw, error);
      return undefined;
    }
  }

  #leaveOut(raw: unknown, problem: unknown): void {
    this.#counts.malformed();
    const identity = identify(raw);
    this.#log.warn("an object is malformed and was skipped", {
      object: identity === undefined ? "unknown" : objectKey(identity),
      error: problem,
    });
  }
}

/** The version to go on from: the new one, unless it is missing or surely older. */
function newer(version: string | undefined, reachedVersion: string): string {
  return version === undefined || version === "" || isOlder(version, reachedVersion)
    ? reachedVersion
    : version;
}
