// One change as the watch cache remembers it, and the line of a watch stream it becomes for a
// watcher: each is encoded once for all watchers.
import type { ApiError } from "../api-error.ts";
import type { KubeObject } from "../kube-object.ts";
import type { EncodedObject } from "./encoded-object.ts";
import { apiVersionOf, type ResourceNames } from "./resource-names.ts";

export type ChangeType = "ADDED" | "MODIFIED" | "DELETED";

export class CacheEvent {
  readonly revision: number;
  readonly namespace: string | undefined;
  readonly #current: EncodedObject | undefined;
  readonly #previous: EncodedObject | undefined;
  readonly #lines = new Map<ChangeType, Uint8Array>();

  /** At least one of the two is given. */
  constructor(
    revision: number,
    change: {
      readonly current: EncodedObject | undefined;
      readonly previous: EncodedObject | undefined;
    },
  ) {
    this.revision = revision;
    this.#current = change.current;
    this.#previous = change.previous;
    this.namespace = (change.current ?? change.previous)?.object.metadata.namespace;
  }

  /**
   * The type of this change for a client that gets only matching objects: an object that begins to
   * match is added, one that no longer matches is deleted. Undefined: no change.
   */
  typeFor(matches: ((object: KubeObject) => boolean) | undefined): ChangeType | undefined {
    const current = this.#current;
    const previous = this.#previous;
    const isSeen = current !== undefined && (matches === undefined || matches(current.object));
    const wasSeen = previous !== undefined && (matches === undefined || matches(previous.object));
    if (isSeen) return wasSeen ? "MODIFIED" : "ADDED";
    return wasSeen ? "DELETED" : undefined;
  }

  line(type: ChangeType): Uint8Array {
    const known = this.#lines.get(type);
    if (known !== undefined) return known;
    const line = changeLine(type, this.shown(type));
    this.#lines.set(type, line);
    return line;
  }

  /** A deletion shows the last state that was seen, under the version of the change. */
  shown(type: ChangeType): EncodedObject {
    const shown = type === "DELETED" ? this.#previous?.at(this.revision) : this.#current;
    if (shown === undefined) throw new Error(`the change at ${this.revision} is no ${type}`);
    return shown;
  }
}

/** For lines that are not shared: bookmarks, and other forms of objects. */
export function eventLine(type: ChangeType | "BOOKMARK", object: object): Uint8Array {
  return Buffer.from(`${JSON.stringify({ type, object })}\n`, "utf8");
}

export function changeLine(type: ChangeType, shown: EncodedObject): Uint8Array {
  const start = lineStarts[type];
  const line = Buffer.allocUnsafe(start.length + shown.byteLength + lineEnd.length);
  line.set(start, 0);
  line.set(lineEnd, shown.copyInto(line, start.length));
  return line;
}

/** A bookmark: everything up to a revision has been sent. */
export function bookmarkObject(
  names: ResourceNames,
  revision: number,
  options: { readonly endsInitialEvents: boolean },
): Record<string, unknown> {
  const metadata = {
    resourceVersion: String(revision),
    ...(options.endsInitialEvents ? { annotations: { "k8s.io/initial-events-end": "true" } } : {}),
  };
  return { kind: names.kind, apiVersion: apiVersionOf(names), metadata };
}

export function errorLine(error: ApiError): Uint8Array {
  const event = { type: "ERROR", object: error.toStatus() };
  return Buffer.from(`${JSON.stringify(event)}\n`, "utf8");
}

const lineStarts: Readonly<Record<ChangeType, Buffer>> = {
  ADDED: Buffer.from('{"type":"ADDED","object":'),
  MODIFIED: Buffer.from('{"type":"MODIFIED","object":'),
  DELETED: Buffer.from('{"type":"DELETED","object":'),
};
const lineEnd = Buffer.from("}\n");
