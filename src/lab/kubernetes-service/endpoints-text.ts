// The Endpoints of `kubernetes` as Go prints them into the server's log: with %v a struct of the
// internal API up to about 1.10, and the generated text of v1 since; with %#v in Go syntax. A field
// that the lab's objects never have is printed as Go prints its zero value.
import { optionalString, type RawRecord, recordAt } from "../../kube/kinds/fields.ts";
import type { KubernetesServiceRules } from "./kubernetes-service-rules.ts";
import type { ServicePort, ServiceSubset } from "./service-endpoints.ts";

export interface PrintedEndpoints {
  readonly metadata: RawRecord;
  readonly subsets: readonly ServiceSubset[];
}

type Style = KubernetesServiceRules["printed"];

/** `%v`. */
export function endpointsText(endpoints: PrintedEndpoints, style: Style): string {
  const meta = metaText(endpoints.metadata, style);
  if (style === "internal") {
    const subsets = endpoints.subsets.map(
      ({ addresses, ports }) =>
        `{[${addresses.map((ip) => `{${ip}  <nil> <nil>}`).join(" ")}] [] ` +
        `[${ports.map(({ name, port, protocol }) => `{${name} ${port} ${protocol}}`).join(" ")}]}`,
    );
    return `&{{ } ${meta} [${subsets.join(" ")}]}`;
  }
  const subsets = endpoints.subsets.map(({ addresses, ports }) => {
    const shown = addresses.map(
      (ip) => `EndpointAddress{IP:${ip},TargetRef:nil,Hostname:,NodeName:nil,},`,
    );
    const shownPorts = ports.map((port) => `${portText(port, style)},`);
    return (
      `EndpointSubset{Addresses:[]EndpointAddress{${shown.join("")}},` +
      `NotReadyAddresses:[]EndpointAddress{},Ports:[]EndpointPort{${shownPorts.join("")}},},`
    );
  });
  return `&Endpoints{ObjectMeta:${meta},Subsets:[]EndpointSubset{${subsets.join("")}},}`;
}

/** `%#v`, as far as the subsets. */
export function endpointsGoText({ metadata, subsets }: PrintedEndpoints, style: Style): string {
  const api = style === "internal" ? "core" : "v1";
  const shown = subsets.map(({ addresses, ports }) => {
    const ips = addresses.map(
      (ip) =>
        `${api}.EndpointAddress{IP:"${ip}", Hostname:"", NodeName:(*string)(nil), ` +
        `TargetRef:(*${api}.ObjectReference)(nil)}`,
    );
    const numbers = ports.map(
      ({ name, port, protocol }) =>
        `${api}.EndpointPort{Name:"${name}", Port:${port}, Protocol:"${protocol}"}`,
    );
    return (
      `${api}.EndpointSubset{Addresses:[]${api}.EndpointAddress{${ips.join(", ")}}, ` +
      `NotReadyAddresses:[]${api}.EndpointAddress(nil), ` +
      `Ports:[]${api}.EndpointPort{${numbers.join(", ")}}}`
    );
  });
  const text = (field: string) => JSON.stringify(optionalString(metadata, field) ?? "");
  return (
    `&${api}.Endpoints{TypeMeta:v1.TypeMeta{Kind:"", APIVersion:""}, ` +
    `ObjectMeta:v1.ObjectMeta{Name:${text("name")}, GenerateName:"", ` +
    `Namespace:${text("namespace")}, UID:${text("uid")}, ` +
    `ResourceVersion:${text("resourceVersion")}}, ` +
    `Subsets:[]${api}.EndpointSubset{${shown.join(", ")}}}`
  );
}

function portText({ name, port, protocol }: ServicePort, style: Style): string {
  const appProtocol = style === "v1" ? "AppProtocol:nil," : "";
  return `EndpointPort{Name:${name},Port:${port},Protocol:${protocol},${appProtocol}}`;
}

/** The fields of ObjectMeta in their order; what follows the maps differs between versions. */
function metaText(metadata: RawRecord, style: Style): string {
  const text = (field: string) => optionalString(metadata, field) ?? "";
  const name = text("name");
  const namespace = text("namespace");
  // The server stopped to fill in selfLink in 1.20.
  const selfLink = style === "v1" ? "" : `/api/v1/namespaces/${namespace}/endpoints/${name}`;
  const created = text("creationTimestamp").replace("T", " ").replace("Z", " +0000 UTC");
  return (
    `{${name}  ${namespace} ${selfLink} ${text("uid")} ${text("resourceVersion")} 0 ${created} ` +
    `<nil> <nil> ${mapText(recordAt(metadata, "labels"))} ` +
    `${mapText(recordAt(metadata, "annotations"))} ${metaEnds[style]}}`
  );
}

/** Owners, then: initializers, finalizers, cluster name; or finalizers and managed fields. */
const metaEnds: Readonly<Record<Style, string>> = {
  internal: "[] nil [] ",
  "v1-1.17": "[] []  []",
  v1: "[] [] []",
};

function mapText(map: RawRecord): string {
  const entries = Object.entries(map).map(([key, value]) => `${key}:${String(value)}`);
  return `map[${entries.sort().join(" ")}]`;
}
