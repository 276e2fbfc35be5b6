// The removed and added entries of a list. One or two endpoints of a service change at a time and
// the others keep their places, as the same values where lists share equal ones. So only the part
// between the equal start and the equal end is compared.
import { endpointKey, isSameEndpoint, type WitnessedEndpoint } from "../timeline/witness.ts";

type List = readonly WitnessedEndpoint[];

/** Up to here looking through a whole list is cheaper than naming all that is in it. */
const fewMax = 4;

const none: List = [];

/** The endpoints that only one of the lists has, each once. */
export function listDifference(
  before: List,
  after: List,
): { readonly gone: List; readonly come: List } {
  const part = differingPart(before, after);
  return { gone: missingFrom(after, part.before), come: missingFrom(before, part.after) };
}

/** Both lists without the values that they begin and end with alike; equal ones may be left. */
export function differingPart<T>(
  before: readonly T[],
  after: readonly T[],
): { readonly before: readonly T[]; readonly after: readonly T[] } {
  const shorter = Math.min(before.length, after.length);
  let from = 0;
  while (from < shorter && before[from] === after[from]) from += 1;
  let beforeEnd = before.length;
  let afterEnd = after.length;
  while (beforeEnd > from && afterEnd > from && before[beforeEnd - 1] === after[afterEnd - 1]) {
    beforeEnd -= 1;
    afterEnd -= 1;
  }
  return { before: before.slice(from, beforeEnd), after: after.slice(from, afterEnd) };
}

/** Those of the candidates that are not in the list. */
function missingFrom(list: List, candidates: List): List {
  if (candidates.length === 0) return none;
  if (candidates.length <= fewMax) {
    return candidates.filter((one, index) => {
      const isSame = (other: WitnessedEndpoint): boolean => isSameEndpoint(one, other);
      return !list.some(isSame) && candidates.findIndex(isSame) === index;
    });
  }
  const names = new Set(list.map(endpointKey));
  return candidates.filter((one) => {
    const name = endpointKey(one);
    const isMissing = !names.has(name);
    names.add(name);
    return isMissing;
  });
}
