// The subsets of an Endpoints object of the API as addresses at ports: objects of any writer get the
// form that the controller computes.
import {
  isRecord,
  listAt,
  optionalNumber,
  optionalString,
  type RawRecord,
} from "../../../kube/kinds/fields.ts";
import type { Placed, SubsetAddress, SubsetPort, TargetRef } from "./repack.ts";

export function placedIn(endpoints: RawRecord): readonly Placed[] {
  const placed: Placed[] = [];
  for (const [place, subset] of listAt(endpoints, "subsets").filter(isRecord).entries()) {
    const ports = listAt(subset, "ports").filter(isRecord).map(readPort);
    for (const [index, port] of (ports.length === 0 ? [undefined] : ports).entries()) {
      const readAt = port?.appProtocol === undefined ? {} : { readAt: `${place}.${index}` };
      for (const ready of [true, false]) {
        const field = ready ? "addresses" : "notReadyAddresses";
        for (const address of listAt(subset, field).filter(isRecord)) {
          placed.push({ port, ...readAt, address: readAddress(address), ready });
        }
      }
    }
  }
  return placed;
}

function readPort(port: RawRecord): SubsetPort {
  const name = optionalString(port, "name");
  const appProtocol = optionalString(port, "appProtocol");
  return {
    ...(name === undefined ? {} : { name }),
    port: optionalNumber(port, "port") ?? 0,
    protocol: optionalString(port, "protocol") ?? "TCP",
    ...(appProtocol === undefined ? {} : { appProtocol }),
  };
}

function readAddress(address: RawRecord): SubsetAddress {
  const hostname = optionalString(address, "hostname");
  const nodeName = optionalString(address, "nodeName");
  const target = address["targetRef"];
  return {
    ip: optionalString(address, "ip") ?? "",
    ...(hostname === undefined ? {} : { hostname }),
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(isRecord(target) ? { targetRef: readTarget(target) } : {}),
  };
}

function readTarget(raw: RawRecord): TargetRef {
  const { uid, ...target } = raw;
  return typeof uid === "string" ? { ...target, uid } : target;
}
