// Only for tests: the services that every cluster of the proof has, and how their endpoints are
// written down in the published forms.
import type { RawRecord } from "../../src/kube/kinds/fields.ts";
import type { EndpointName } from "./reported-endpoints.ts";

export interface ProofService {
  readonly path: string;
  /** Without one its endpoints are written by hand. */
  readonly selector: Readonly<Record<string, string>> | undefined;
  readonly ports: readonly number[];
  /** Its endpoints are copied into the access cluster. */
  readonly isCopied: boolean;
  /** Also pods that are not ready, or leaving, as those of a database that looks for its peers. */
  readonly publishesUnready: boolean;
}

export const web: ProofService = {
  path: "shop/web",
  selector: { app: "web" },
  ports: [8080],
  isCopied: true,
  publishesUnready: false,
};

/** Over the pods of the others, and with a port more. */
const all: ProofService = {
  path: "shop/all",
  selector: { tier: "shop" },
  ports: [8080, 9090],
  isCopied: false,
  publishesUnready: false,
};

const peers: ProofService = {
  path: "shop/peers",
  selector: { app: "db" },
  ports: [8080],
  isCopied: false,
  publishesUnready: true,
};

export const byHand: ProofService = {
  path: "shop/ext",
  selector: undefined,
  ports: [8080],
  isCopied: false,
  publishesUnready: false,
};

export const services: readonly ProofService[] = [web, all, peers, byHand];

/** An endpoint of a pod that is there and not ready is listed as such. */
export interface ListedEndpoint {
  readonly address: string;
  readonly uid: string;
  readonly isReady: boolean;
}

/** Its Service object; another selector may be in force. */
export function serviceSpec(
  { ports, selector, publishesUnready }: ProofService,
  inForce = selector,
): RawRecord {
  return {
    ports: ports.map((port) => ({ name: `p${port}`, port, targetPort: port })),
    ...(inForce && { selector: inForce }),
    ...(publishesUnready && { publishNotReadyAddresses: true }),
  };
}

export function sliceOf(ports: readonly number[], endpoints: readonly ListedEndpoint[]): RawRecord {
  return {
    addressType: "IPv4",
    ports: portsOf(ports),
    endpoints: endpoints.map(({ address, uid, isReady }) => ({
      addresses: [address],
      conditions: { ready: isReady },
      ...targetOf(uid),
    })),
  };
}

/** Those that are ready and those that are not in two lists. */
export function endpointsOf(
  ports: readonly number[],
  endpoints: readonly ListedEndpoint[],
): RawRecord {
  const listed = (isReady: boolean): readonly RawRecord[] =>
    endpoints
      .filter((one) => one.isReady === isReady)
      .map(({ address, uid }) => ({ ip: address, ...targetOf(uid) }));
  const [addresses, notReadyAddresses] = [listed(true), listed(false)];
  if (endpoints.length === 0) return { subsets: [] };
  return {
    subsets: [
      {
        ...(addresses.length > 0 && { addresses }),
        ...(notReadyAddresses.length > 0 && { notReadyAddresses }),
        ports: portsOf(ports),
      },
    ],
  };
}

/** Each pod once, though it is an endpoint at every port. */
export function listedOf(endpoints: readonly EndpointName[]): readonly ListedEndpoint[] {
  const byPod = new Map(endpoints.map((one) => [`${one.uid} ${one.address}`, one]));
  return [...byPod.values()].map(({ address, uid }) => ({ address, uid, isReady: true }));
}

function portsOf(ports: readonly number[]): readonly RawRecord[] {
  return ports.map((port) => ({ name: `p${port}`, port }));
}

function targetOf(uid: string): RawRecord {
  return uid === "" ? {} : { targetRef: { kind: "Pod", namespace: "shop", uid } };
}
