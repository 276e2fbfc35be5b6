// What one Endpoints object or EndpointSlice lists as ready, read from a recording or from an object
// saved with kubectl.
import {
  isRecord,
  listAt,
  MalformedObjectError,
  optionalNumber,
  optionalString,
  type RawRecord,
  recordAt,
  stringMapAt,
  stringsAt,
} from "../kube/kinds/fields.ts";
import { nameLengthMax, optionalName, requiredName } from "./metadata-text.ts";
import { newestTimeMs } from "./saved-time.ts";

export interface ListedEndpoint {
  readonly address: string;
  /** 0 where the service has no ports, or the slice means every port. */
  readonly port: number;
  readonly podUid: string | undefined;
  readonly podName: string | undefined;
}

/** A slice may have 1,000 endpoints, and few have more ports than ten. */
const listedMax = 20_000;

export interface PublishedFacts {
  readonly form: "EndpointSlice" | "Endpoints";
  readonly uid: string;
  /** `namespace/name` of the service whose endpoints these are. */
  readonly service: string;
  readonly endpoints: readonly ListedEndpoint[];
  /** The newest time in it: what it lists was so at least until then. */
  readonly changedMs: number;
}

/** Undefined for a slice that belongs to no service. Throws `MalformedObjectError`. */
export function readSlice(object: RawRecord): PublishedFacts | undefined {
  const metadata = recordAt(object, "metadata");
  const name = stringMapAt(metadata, "labels")["kubernetes.io/service-name"];
  if (name === undefined) return undefined;
  const ports = portsOf(object);
  const listed = listAt(object, "endpoints");
  refuseTooMany(listed.length * ports.length);
  const endpoints = listed
    .filter(isRecord)
    .filter((endpoint) => recordAt(endpoint, "conditions")["ready"] !== false)
    .flatMap((endpoint) =>
      stringsAt(endpoint, "addresses")
        // The addresses of one endpoint are interchangeable, and consumers take the first.
        .slice(0, 1)
        .filter((address) => address.length <= nameLengthMax)
        .flatMap((address) => ports.map((port) => ({ address, port, ...podOf(endpoint) }))),
    );
  const service = `${requiredName(metadata, "namespace")}/${name.slice(0, nameLengthMax)}`;
  const uid = requiredName(metadata, "uid");
  return { form: "EndpointSlice", uid, service, endpoints, changedMs: newestTimeMs(metadata) };
}

/** Throws `MalformedObjectError`. */
export function readEndpoints(object: RawRecord): PublishedFacts {
  const metadata = recordAt(object, "metadata");
  const subsets = listAt(object, "subsets")
    .filter(isRecord)
    .map((subset) => ({ ports: portsOf(subset), listed: listAt(subset, "addresses") }));
  refuseTooMany(subsets.reduce((sum, { ports, listed }) => sum + ports.length * listed.length, 0));
  const endpoints = subsets.flatMap(({ ports, listed }) =>
    listed.filter(isRecord).flatMap((entry) => {
      const address = requiredName(entry, "ip");
      return ports.map((port) => ({ address, port, ...podOf(entry) }));
    }),
  );
  const service = `${requiredName(metadata, "namespace")}/${requiredName(metadata, "name")}`;
  const uid = requiredName(metadata, "uid");
  return { form: "Endpoints", uid, service, endpoints, changedMs: newestTimeMs(metadata) };
}

function refuseTooMany(count: number): void {
  if (count <= listedMax) return;
  throw new MalformedObjectError(`it lists more than ${listedMax} addresses and ports`);
}

function portsOf(object: RawRecord): readonly number[] {
  const ports = listAt(object, "ports")
    .filter(isRecord)
    .map((port) => optionalNumber(port, "port") ?? 0);
  return ports.length === 0 ? [0] : ports;
}

function podOf(entry: RawRecord): Pick<ListedEndpoint, "podUid" | "podName"> {
  const target = recordAt(entry, "targetRef");
  if (optionalString(target, "kind") !== "Pod") return { podUid: undefined, podName: undefined };
  return { podUid: optionalName(target, "uid"), podName: optionalName(target, "name") };
}
