import { expect, it } from "vitest";
import { endpointsGoText, endpointsText } from "./endpoints-text.ts";

const endpoints = {
  metadata: {
    name: "kubernetes",
    namespace: "default",
    uid: "1f2e",
    resourceVersion: "12",
    creationTimestamp: "2019-05-11T04:16:48Z",
  },
  subsets: [{ addresses: ["10.0.0.1"], ports: [{ name: "https", port: 6443, protocol: "TCP" }] }],
};

it("prints a struct of the internal API, as the write-up's lines begin", () => {
  expect(endpointsText(endpoints, "internal")).toBe(
    "&{{ } {kubernetes  default /api/v1/namespaces/default/endpoints/kubernetes 1f2e 12 0 " +
      "2019-05-11 04:16:48 +0000 UTC <nil> <nil> map[] map[] [] nil [] } " +
      "[{[{10.0.0.1  <nil> <nil>}] [] [{https 6443 TCP}]}]}",
  );
});

it("prints the generated text of v1 in 1.17", () => {
  expect(endpointsText(endpoints, "v1-1.17")).toBe(
    "&Endpoints{ObjectMeta:{kubernetes  default " +
      "/api/v1/namespaces/default/endpoints/kubernetes 1f2e 12 0 " +
      "2019-05-11 04:16:48 +0000 UTC <nil> <nil> map[] map[] [] []  []}," +
      "Subsets:[]EndpointSubset{EndpointSubset{Addresses:[]EndpointAddress{" +
      "EndpointAddress{IP:10.0.0.1,TargetRef:nil,Hostname:,NodeName:nil,},}," +
      "NotReadyAddresses:[]EndpointAddress{},Ports:[]EndpointPort{" +
      "EndpointPort{Name:https,Port:6443,Protocol:TCP,},},},},}",
  );
});

it("prints labels, but no selfLink and no cluster name, since 1.20", () => {
  const labels = { "endpointslice.kubernetes.io/skip-mirror": "true" };
  const metadata = { ...endpoints.metadata, labels };
  expect(endpointsText({ ...endpoints, metadata }, "v1")).toBe(
    "&Endpoints{ObjectMeta:{kubernetes  default  1f2e 12 0 " +
      "2019-05-11 04:16:48 +0000 UTC <nil> <nil> " +
      "map[endpointslice.kubernetes.io/skip-mirror:true] map[] [] [] []}," +
      "Subsets:[]EndpointSubset{EndpointSubset{Addresses:[]EndpointAddress{" +
      "EndpointAddress{IP:10.0.0.1,TargetRef:nil,Hostname:,NodeName:nil,},}," +
      "NotReadyAddresses:[]EndpointAddress{},Ports:[]EndpointPort{" +
      "EndpointPort{Name:https,Port:6443,Protocol:TCP,AppProtocol:nil,},},},},}",
  );
});

it("prints an object with replaced subsets in Go syntax", () => {
  expect(endpointsGoText(endpoints, "internal")).toBe(
    '&core.Endpoints{TypeMeta:v1.TypeMeta{Kind:"", APIVersion:""}, ' +
      'ObjectMeta:v1.ObjectMeta{Name:"kubernetes", GenerateName:"", Namespace:"default", ' +
      'UID:"1f2e", ResourceVersion:"12"}, Subsets:[]core.EndpointSubset{' +
      "core.EndpointSubset{Addresses:[]core.EndpointAddress{core.EndpointAddress{" +
      'IP:"10.0.0.1", Hostname:"", NodeName:(*string)(nil), ' +
      "TargetRef:(*core.ObjectReference)(nil)}}, " +
      "NotReadyAddresses:[]core.EndpointAddress(nil), Ports:[]core.EndpointPort{" +
      'core.EndpointPort{Name:"https", Port:6443, Protocol:"TCP"}}}}}',
  );
});
