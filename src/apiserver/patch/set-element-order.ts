// `$setElementOrder/…`: the order a client wants for the elements it knows of. Elements that only
// the server knows keep their place among them.

import { formatGoValue } from "../decode/go-format.ts";
import { isJsonObject } from "../kinds/fields.ts";
import { withoutDirectives } from "./patch-directives.ts";
import type { ListMeta } from "./patch-meta.ts";
import { elementType, expectObject, inServerOrder, keyOf } from "./strategic-merge-list.ts";
import { StrategicPatchError } from "./strategic-patch-error.ts";

export interface OrderedPatch {
  /** The list as it is, when it is there. */
  readonly current: readonly unknown[] | undefined;
  /** What the patch says of the list, when it says anything. */
  readonly patch: readonly unknown[] | undefined;
  readonly order: readonly unknown[];
  readonly list: ListMeta;
  readonly merge: (
    current: unknown[],
    patch: readonly unknown[],
    list: ListMeta,
  ) => readonly unknown[];
}

/** The merged list in the wanted order; undefined when there is none on either side. */
export function orderElements(given: OrderedPatch): readonly unknown[] | undefined {
  const { current, patch, order, list } = given;
  checkOrder(patch ?? [], order, list.mergeKey);
  const server = current === undefined ? undefined : [...current];
  const merged = mergedList({ ...given, current: server });
  if (merged === undefined) {
    return undefined;
  }
  elementType([current ?? [], patch ?? []]);
  return inServerOrder({ merged, order, current: server ?? [], mergeKey: list.mergeKey });
}

function mergedList({
  current,
  patch,
  list,
  merge,
}: Omit<OrderedPatch, "current"> & { readonly current: unknown[] | undefined }):
  | readonly unknown[]
  | undefined {
  if (current === undefined) {
    return patch?.map(withoutDirectives).filter((item) => item !== undefined);
  }
  return patch === undefined ? current : merge(current, patch, list);
}

/** What the patch changes must be in the order list, in the same order. */
function checkOrder(patch: readonly unknown[], order: readonly unknown[], mergeKey: string): void {
  if (order.length === 0 || patch.length === 0) {
    return;
  }
  if (mergeKey !== "") {
    patch.forEach(expectObject);
  }
  const identity = (item: unknown) => (mergeKey === "" ? item : keyOf(item, mergeKey));
  const wanted = patch.filter((item) => !isJsonObject(item) || !Object.hasOwn(item, "$patch"));
  let found = 0;
  for (const item of order) {
    if (found < wanted.length && identity(wanted[found]) === identity(item)) {
      found++;
    }
  }
  if (found < wanted.length) {
    throw new StrategicPatchError(
      500,
      `The order in patch list:\n${formatGoValue(patch)}\n doesn't match $setElementOrder list:\n` +
        `${formatGoValue(order)}\n`,
    );
  }
}
