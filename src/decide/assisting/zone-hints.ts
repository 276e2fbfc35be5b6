// Hints about zones, as the Service's own slices have them. An endpoint that they do not list yet is
// for its own zone: proxies ignore all hints as soon as one endpoint has none.
import type { SyncedEndpoint } from "../syncing/synced-endpoint.ts";

export function withZoneHints(
  endpoints: readonly SyncedEndpoint[],
  published: readonly SyncedEndpoint[],
): readonly SyncedEndpoint[] {
  const hints = new Map<string, readonly string[]>();
  for (const { address, hintedZones } of published) {
    if (hintedZones !== undefined) hints.set(address, hintedZones);
  }
  if (hints.size === 0) return endpoints;
  return endpoints.map((endpoint) => {
    const { address, zone } = endpoint;
    const hintedZones = hints.get(address) ?? (zone === undefined ? undefined : [zone]);
    return hintedZones === undefined ? endpoint : { ...endpoint, hintedZones };
  });
}
