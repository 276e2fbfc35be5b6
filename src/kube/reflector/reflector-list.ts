// Reads a whole collection into a replacement of the store: in pages, which may be one for all, or as
// the first part of a watch. Nothing changes until the replacement is committed, so a list that
// fails half-way leaves the store as it was.
import { elapsedMs } from "../../environment/clock.ts";
import { type KubeRequest, StatusError } from "../client/client.ts";
import { isRecord, MalformedObjectError } from "../kinds/fields.ts";
import type { Kind, Projected } from "../kinds/kind.ts";
import { resourceVersionOf } from "../kinds/metadata.ts";
import type { Replacement } from "../store/store.ts";
import { parseWithoutManagedFields } from "./lean-json.ts";
import type { ReflectorParts } from "./reflector-parts.ts";
import { StalledListError, type WatchStream } from "./reflector-stream.ts";

/** Five million objects: a server that goes on is repeating itself. */
export const maxListPages = 10_000;
/** As many as a page has: the longest that one turn of the event loop should take. */
export const eventsPerBreath = 500;
/**
 * All items of a streamed list exist when it begins, so a pause this long means that it stalled.
 */
export const listStallMs = 30_000;
/** Marks the bookmark that ends the first part of a watch that begins with everything. */
const initialEventsEnd = "k8s.io/initial-events-end";

export interface ListEnd {
  /** The version that the whole list shows. */
  readonly resourceVersion: string;
  /** How many objects the pages announced and did not have. */
  readonly unsent: number;
  /** The server that sent the last page; undefined when the client does not know it. */
  readonly peer: string | undefined;
}

/** Follows the first answer to the last page. */
export async function listPages<T extends Projected, I extends string>(
  parts: ReflectorParts<T, I>,
  first: KubeRequest,
  replacement: Replacement<T, I>,
): Promise<ListEnd> {
  const { client, collection, intake, counts, clock, kind, signal } = parts;
  let answer = client.request(first);
  let similar: T | undefined;
  let items = 0;
  let announced = 0;
  for (let pages = 0; pages < maxListPages; pages += 1) {
    const response = await answer;
    parts.freshness.answered();
    const startedAt = clock.monotonicMs();
    // Asked for before this page is read, so that the server works meanwhile.
    const early = peekContinueToken(response.body);
    if (early !== undefined) {
      answer = client.request(collection.nextPage(early, signal));
      // It is awaited in the next round, unless this page turns out to be unreadable.
      answer.catch(() => undefined);
    }
    const page = readPage(parseWithoutManagedFields(response.body), kind);
    for (const item of page.items) {
      similar = intake.addListed(item, replacement, similar);
    }
    items += page.items.length;
    if (page.remaining !== undefined) announced = items + page.remaining;
    counts.page(response.body.length);
    counts.decoded(elapsedMs(startedAt, clock.monotonicMs()));
    if (page.continueToken === undefined) {
      const { resourceVersion } = page;
      return { resourceVersion, unsent: Math.max(0, announced - items), peer: response.peer };
    }
    if (early === undefined) {
      answer = client.request(collection.nextPage(page.continueToken, signal));
    }
  }
  throw new MalformedObjectError(`the list has more than ${maxListPages} pages`);
}

/** Reads the stream up to the bookmark that ends the initial events, and returns its version. */
export async function readInitialEvents<T extends Projected, I extends string>(
  parts: ReflectorParts<T, I>,
  stream: WatchStream,
  replacement: Replacement<T, I>,
): Promise<string> {
  let sinceBreath = 0;
  for (;;) {
    const bytes = await readUnlessStalled(parts, stream);
    if (bytes === 0) {
      throw new StatusError({
        code: 500,
        reason: "",
        message: "the watch ended before it had sent the whole collection",
      });
    }
    parts.freshness.answered();
    const startedAt = parts.clock.monotonicMs();
    for (let event = stream.nextEvent(); event !== undefined; event = stream.nextEvent()) {
      parts.counts.event(event.type);
      if (event.type === "BOOKMARK" && endsInitialEvents(event.object)) {
        parts.counts.chunk(bytes, elapsedMs(startedAt, parts.clock.monotonicMs()));
        return versionOf(event.object);
      }
      parts.intake.addInitial(event, replacement);
      sinceBreath += 1;
      if (sinceBreath >= eventsPerBreath) {
        sinceBreath = 0;
        await parts.timers.breathe();
      }
    }
    parts.counts.chunk(bytes, elapsedMs(startedAt, parts.clock.monotonicMs()));
  }
}

/** No guard watches over a list: it is ended here when no more data arrives. */
async function readUnlessStalled<T extends Projected, I extends string>(
  { timers, signal }: ReflectorParts<T, I>,
  stream: WatchStream,
): Promise<number> {
  const cancel = timers.after(listStallMs, () => stream.cut());
  try {
    return await stream.read();
  } catch (cause) {
    throw stream.isCut && !signal.aborted
      ? new StalledListError("the list stopped half-way", { cause })
      : cause;
  } finally {
    cancel();
  }
}

/** Whether the server does not know how to begin a watch with the collection. */
export function refusesInitialEvents(error: unknown): boolean {
  return error instanceof StatusError && (error.code === 400 || error.code === 422);
}

/** Kubernetes encodes the metadata of a list first; this is more than it takes. */
const longestListHeadBytes = 8_192;

/** The token of the next page, if the first bytes have it, without parsing the rest. */
function peekContinueToken(body: Buffer): string | undefined {
  const itemsAt = body.subarray(0, longestListHeadBytes).indexOf(',"items":[');
  if (itemsAt === -1) {
    return undefined;
  }
  try {
    const head: unknown = JSON.parse(`${body.toString("utf8", 0, itemsAt)}}`);
    return continueTokenOf(metadataOf(head));
  } catch {
    // The metadata is not in front after all: the token shows when the whole page is parsed.
    return undefined;
  }
}

interface Page {
  readonly items: readonly unknown[];
  readonly resourceVersion: string;
  readonly continueToken: string | undefined;
  /** How many objects follow on other pages; undefined when the server does not say. */
  readonly remaining: number | undefined;
}

/** Anything but a list of this kind is an error: taken for an empty list it would remove everything. */
function readPage(list: unknown, { kind }: Pick<Kind<Projected>, "kind">): Page {
  const record = isRecord(list) ? list : {};
  if (record["kind"] !== `${kind}List`) {
    const got = typeof record["kind"] === "string" ? record["kind"] : "something without a kind";
    throw new MalformedObjectError(`the answer should be a ${kind}List, and is ${got}`);
  }
  // Go encodes a nil list as null.
  const items = record["items"] === null ? [] : record["items"];
  if (!Array.isArray(items)) {
    throw new MalformedObjectError("the answer should be a list, and has no items");
  }
  const metadata = metadataOf(list);
  const remaining = metadata["remainingItemCount"];
  return {
    items,
    resourceVersion: versionOf(list),
    continueToken: continueTokenOf(metadata),
    remaining: typeof remaining === "number" ? remaining : undefined,
  };
}

function metadataOf(list: unknown): Readonly<Record<string, unknown>> {
  const metadata = isRecord(list) ? list["metadata"] : undefined;
  return isRecord(metadata) ? metadata : {};
}

function continueTokenOf({ continue: token }: Readonly<Record<string, unknown>>) {
  return typeof token === "string" && token !== "" ? token : undefined;
}

function versionOf(object: unknown): string {
  const version = resourceVersionOf(object);
  if (version === undefined) {
    throw new MalformedObjectError("the answer has no resourceVersion to watch from");
  }
  return version;
}

function endsInitialEvents(bookmark: unknown): boolean {
  const metadata = isRecord(bookmark) ? bookmark["metadata"] : undefined;
  const annotations = isRecord(metadata) ? metadata["annotations"] : undefined;
  return isRecord(annotations) && annotations[initialEventsEnd] === "true";
}
