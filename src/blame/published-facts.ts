// The endpoints that one Endpoints object or EndpointSlice lists as ready, read from a recording or
// from an object saved with kubectl.
import { sliceContent } from "../kube/kinds/endpoint-slice.ts";
import { subsetsOf } from "../kube/kinds/endpoints.ts";
import {
  MalformedObjectError,
  type RawRecord,
  recordAt,
  stringMapAt,
} from "../kube/kinds/fields.ts";
import type { TargetRef } from "../kube/kinds/target-ref.ts";
import {
  type ListedEndpoint as Listed,
  listedInEndpoints,
  listedInSlice,
  portNumbers,
} from "../model/published-endpoint.ts";
import { nameLengthMax, notTooLong, requiredName } from "../recording/metadata-text.ts";
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
  /** The newest time in it: its list was valid at least until then. */
  readonly changedMs: number;
}

/** Undefined for a slice that belongs to no service. Throws `MalformedObjectError`. */
export function readSlice(object: RawRecord): PublishedFacts | undefined {
  const metadata = recordAt(object, "metadata");
  const name = stringMapAt(metadata, "labels")["kubernetes.io/service-name"];
  if (name === undefined) return undefined;
  const service = `${requiredName(metadata, "namespace")}/${name.slice(0, nameLengthMax)}`;
  const endpoints = readyAmong(listedInSlice(sliceContent(object)));
  return { form: "EndpointSlice", service, endpoints, ...factsOf(metadata) };
}

/** Throws `MalformedObjectError`. */
export function readEndpoints(object: RawRecord): PublishedFacts {
  const metadata = recordAt(object, "metadata");
  const service = `${requiredName(metadata, "namespace")}/${requiredName(metadata, "name")}`;
  const endpoints = readyAmong(listedInEndpoints({ subsets: subsetsOf(object) }));
  return { form: "Endpoints", service, endpoints, ...factsOf(metadata) };
}

function factsOf(metadata: RawRecord): Pick<PublishedFacts, "uid" | "changedMs"> {
  return { uid: requiredName(metadata, "uid"), changedMs: newestTimeMs(metadata) };
}

function readyAmong(listed: readonly Listed[]): readonly ListedEndpoint[] {
  const count = listed.reduce((sum, { ports }) => sum + Math.max(1, ports.length), 0);
  if (count > listedMax) {
    throw new MalformedObjectError(`it lists more than ${listedMax} addresses and ports`);
  }
  return listed
    .filter(({ ready }) => ready)
    .flatMap(({ address, ports, targetRef }) => {
      const place = { address: notTooLong(address, "an address"), ...podOf(targetRef) };
      return portNumbers(ports).map((port) => ({ ...place, port }));
    });
}

function podOf(target: TargetRef | undefined): Pick<ListedEndpoint, "podUid" | "podName"> {
  if (target?.kind !== "Pod") return { podUid: undefined, podName: undefined };
  const { uid, name } = target;
  return {
    podUid: uid === undefined ? undefined : notTooLong(uid, "uid"),
    podName: name === "" ? undefined : notTooLong(name, "name"),
  };
}
