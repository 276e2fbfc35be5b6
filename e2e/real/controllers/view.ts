// The published objects of one side's controllers in a namespace, in a comparable form: random
// values of a server (names, uids, versions, times) are replaced by their meaning, and lists in the
// random order of Go's maps are sorted.
import {
  isRecord,
  listAt,
  optionalString,
  type RawRecord,
  recordAt,
} from "../../../src/kube/kinds/fields.ts";
import type { Answer } from "./side.ts";

const triggerTime = "endpoints.kubernetes.io/last-change-trigger-time";

/** The meaning of the names and times of one side. */
export class Meanings {
  /** By uid: `Pod pod-3` and the like. */
  readonly #uids = new Map<string, string>();
  /** By service: the times its namesakes were created. */
  readonly #created = new Map<string, Set<string>>();
  readonly #incarnations = new Map<string, number>();

  /** Takes note of an object that a history created. */
  learn({ status, object }: Answer): void {
    if (status >= 300) return;
    const metadata = recordAt(object, "metadata");
    const kind = optionalString(object, "kind") ?? "";
    const name = optionalString(metadata, "name") ?? "";
    const uid = optionalString(metadata, "uid") ?? "";
    if (this.#uids.has(uid)) return;
    const key = `${kind} ${optionalString(metadata, "namespace")}/${name}`;
    const incarnation = (this.#incarnations.get(key) ?? 0) + 1;
    this.#incarnations.set(key, incarnation);
    this.#uids.set(uid, `${kind} ${name} #${incarnation}`);
    if (kind !== "Service") return;
    const times = this.#created.get(key) ?? new Set();
    this.#created.set(key, times.add(optionalString(metadata, "creationTimestamp") ?? ""));
  }

  uid(uid: unknown): string {
    return this.#uids.get(String(uid)) ?? (uid === undefined ? "none" : "unknown");
  }

  time(namespace: string, service: string, time: string): string {
    const isCreation = this.#created.get(`Service ${namespace}/${service}`)?.has(time) === true;
    return isCreation ? "when the service was created" : time;
  }
}

/** One object as text; objects of a namespace in the order of the text. */
export type View = readonly string[];

export function viewOf(
  endpoints: readonly RawRecord[],
  slices: readonly RawRecord[],
  meanings: Meanings,
): View {
  const living = new Map(
    endpoints.map((one) => {
      const { uid, name } = recordAt(one, "metadata");
      return [uid, `Endpoints ${String(name)}`] as const;
    }),
  );
  const texts = [
    ...endpoints.map((one) => JSON.stringify(endpointsView(one, meanings))),
    ...together(slices.map((one) => sliceView(one, meanings, living))).map((one) =>
      JSON.stringify(one),
    ),
  ];
  return texts.sort();
}

/** Which endpoint is in which of several slices is up to chance; how full they are is not. */
function together(slices: readonly SliceView[]): readonly object[] {
  const groups = new Map<string, SliceView[]>();
  for (const slice of slices) {
    const { annotations: _, endpoints: __, ...others } = slice;
    const key = JSON.stringify(others);
    groups.set(key, [...(groups.get(key) ?? []), slice]);
  }
  return [...groups.values()].map((group) => {
    const [first] = group;
    if (group.length === 1 || first === undefined) return group[0] ?? {};
    return {
      ...first,
      annotations: group.map(({ annotations }) => annotations).sort(byText),
      sizes: group.map(({ endpoints }) => endpoints.length).sort((one, other) => one - other),
      endpoints: group.flatMap(({ endpoints }) => endpoints).sort(byText),
    };
  });
}

interface SliceView {
  readonly annotations: RawRecord;
  readonly endpoints: readonly RawRecord[];
  readonly [field: string]: unknown;
}

function endpointsView(object: RawRecord, meanings: Meanings): object {
  const metadata = recordAt(object, "metadata");
  const name = optionalString(metadata, "name") ?? "";
  return {
    kind: "Endpoints",
    name,
    ...metadataView(metadata, name, meanings),
    subsets: listAt(object, "subsets")
      .filter(isRecord)
      .map((subset) => subsetView(subset, meanings))
      .map(sortedFields)
      .sort(byText),
  };
}

function subsetView(subset: RawRecord, meanings: Meanings): RawRecord {
  const addresses = (field: string) =>
    listAt(subset, field)
      .filter(isRecord)
      .map((address) => sortedFields(withMeaning(address, meanings)))
      .sort(byText);
  return {
    addresses: addresses("addresses"),
    notReadyAddresses: addresses("notReadyAddresses"),
    ports: listAt(subset, "ports").filter(isRecord).map(sortedFields).sort(byText),
  };
}

function sliceView(
  object: RawRecord,
  meanings: Meanings,
  living: ReadonlyMap<unknown, string>,
): SliceView {
  const metadata = recordAt(object, "metadata");
  const service = optionalString(recordAt(metadata, "labels"), "kubernetes.io/service-name") ?? "";
  const endpoints = listAt(object, "endpoints").filter(isRecord);
  const isShared = endpoints.some(isHintedAway);
  return {
    kind: "EndpointSlice",
    generateName: metadata["generateName"],
    owners: listAt(metadata, "ownerReferences")
      .filter(isRecord)
      .map(({ uid, ...owner }) =>
        sortedFields({ ...owner, uid: living.get(uid) ?? meanings.uid(uid) }),
      ),
    ...metadataView(metadata, service, meanings),
    addressType: object["addressType"],
    // Their order is that of a hash, so that it is the same on both sides.
    ports: listAt(object, "ports").filter(isRecord).map(sortedFields),
    ...(isShared ? { hints: endpoints.map(({ hints }) => JSON.stringify(hints)).sort() } : {}),
    endpoints: endpoints
      .map(({ hints, ...endpoint }) => (isShared ? endpoint : { ...endpoint, hints }))
      .map((endpoint) => sortedFields(withMeaning(endpoint, meanings)))
      .sort(byText),
  };
}

/** Where zones give endpoints to others, how many is certain and which is not. */
function isHintedAway({ hints, zone }: RawRecord): boolean {
  const zones = isRecord(hints) ? listAt(hints, "forZones").filter(isRecord) : [];
  return zones.some(({ name }) => name !== zone);
}

function metadataView(metadata: RawRecord, service: string, meanings: Meanings) {
  const annotations = recordAt(metadata, "annotations");
  const time = optionalString(annotations, triggerTime);
  const namespace = optionalString(metadata, "namespace") ?? "";
  return {
    labels: sortedFields(recordAt(metadata, "labels")),
    annotations: sortedFields({
      ...annotations,
      ...(time === undefined ? {} : { [triggerTime]: meanings.time(namespace, service, time) }),
    }),
    ...(metadata["finalizers"] === undefined ? {} : { finalizers: metadata["finalizers"] }),
    ...(metadata["deletionTimestamp"] === undefined ? {} : { deletionTimestamp: "set" }),
  };
}

function withMeaning(address: RawRecord, meanings: Meanings): RawRecord {
  const target = address["targetRef"];
  if (!isRecord(target)) return address;
  const { uid, ...others } = target;
  return { ...address, targetRef: { ...others, uid: meanings.uid(uid) } };
}

function sortedFields(record: RawRecord): RawRecord {
  const entries = Object.entries(record).map(([name, value]) => [
    name,
    isRecord(value) ? sortedFields(value) : value,
  ]);
  return Object.fromEntries(
    entries.sort(([one], [other]) => (String(one) < String(other) ? -1 : 1)),
  );
}

function byText(one: unknown, other: unknown): number {
  return JSON.stringify(one) < JSON.stringify(other) ? -1 : 1;
}
