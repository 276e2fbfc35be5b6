// The ports of slices: which sets of them are the same, and in which order a controller writes them.
// NewPortMapKey of endpointslice/util sorts what it is given by hash, so that is the order.
import { type DeepHash, sortedByHash } from "../deep-hash.ts";

export interface SlicePort {
  readonly name: string;
  readonly port: number;
  readonly protocol: string;
  readonly appProtocol?: string;
}

export function slicePortsInOrder(
  ports: readonly SlicePort[],
  hash: DeepHash,
): readonly SlicePort[] {
  return sortedByHash(ports, hash, printed);
}

/** Equal for equal sets of ports, in whatever order. */
export function portsKey(ports: readonly SlicePort[]): string {
  return ports
    .map(({ name, port, protocol, appProtocol = "" }) =>
      JSON.stringify([name, port, protocol, appProtocol]),
    )
    .sort()
    .join();
}

/** `%#v` of go-spew, without methods and addresses, of an EndpointPort of discovery.k8s.io/v1. */
function printed({ name, port, protocol, appProtocol }: SlicePort): string {
  return (
    `(v1.EndpointPort){Name:(*string)${name} Protocol:(*v1.Protocol)${protocol} ` +
    `Port:(*int32)${port} AppProtocol:(*string)${appProtocol ?? "<nil>"}}`
  );
}
