// The body of a list answer, put together from the bytes of its items: nothing is encoded again.
import type { EncodedObject } from "./encoded-object.ts";
import type { ListAnswer } from "./list-plan.ts";
import { apiVersionOf, type ResourceNames } from "./resource-names.ts";

/** Custom kinds have items that name their kind; others leave it to the list. */
export interface ListNames extends ResourceNames {
  readonly listKind?: string;
  readonly custom?: object;
}

/** `{"kind":"PodList","apiVersion":"v1","metadata":{…},"items":[…]}` */
export function encodeList(names: ListNames, answer: ListAnswer): Uint8Array {
  const isBare = names.custom === undefined;
  const { items, resourceVersion, continueToken, remainingItemCount } = answer;
  const kind = JSON.stringify(names.listKind ?? `${names.kind}List`);
  const apiVersion = JSON.stringify(apiVersionOf(names));
  const metadata = JSON.stringify({
    resourceVersion,
    ...(continueToken === undefined ? {} : { continue: continueToken }),
    ...(remainingItemCount === undefined ? {} : { remainingItemCount }),
  });
  const head = `{"kind":${kind},"apiVersion":${apiVersion},"metadata":${metadata},"items":[`;
  const start = Buffer.from(head, "utf8");
  const separators = Math.max(0, items.length - 1) * comma.length;
  const sizeOf = (item: EncodedObject) => (isBare ? item.itemByteLength : item.byteLength);
  const content = items.reduce((size, item) => size + sizeOf(item), separators);
  const body = Buffer.allocUnsafe(start.length + content + tail.length);
  let offset = start.copy(body, 0);
  items.forEach((item, index) => {
    if (index > 0) offset += comma.copy(body, offset);
    offset = isBare ? item.copyItemInto(body, offset) : item.copyInto(body, offset);
  });
  tail.copy(body, offset);
  return body;
}

const comma = Buffer.from(",");
const tail = Buffer.from("]}\n");
