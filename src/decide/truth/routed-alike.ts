// Whether a new truth about a service is news to a proxy: reasons may differ, where requests go may
// not. Pure.
import type { ServiceTruth } from "./truth.ts";

/** Whether a proxy would do the same by both; reasons may differ. */
export function areRoutedAlike(a: ServiceTruth, b: ServiceTruth): boolean {
  if (a.endpoints.length !== b.endpoints.length) return false;
  return a.endpoints.every((one, index) => {
    const other = b.endpoints[index];
    return (
      other !== undefined &&
      one.state === other.state &&
      one.address === other.address &&
      one.port === other.port &&
      one.cluster === other.cluster &&
      one.podUid === other.podUid &&
      one.priority === other.priority &&
      one.weight === other.weight
    );
  });
}
