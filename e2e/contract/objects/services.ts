// Services and what describes their endpoints and routes.
import type { Subject } from "./subject.ts";

const target = { kind: "Pod", namespace: "shop", name: "web-1", uid: "u-1" };

export const serviceSubjects: readonly Subject[] = [
  {
    apiVersion: "v1",
    kind: "Service",
    resource: "services",
    namespaced: true,
    minimal: { spec: { ports: [{ port: 80 }] } },
    rich: {
      spec: {
        type: "LoadBalancer",
        selector: { app: "shop" },
        ports: [
          { name: "http", port: 80, targetPort: "http", protocol: "TCP", appProtocol: "http" },
          { name: "https", port: 443, targetPort: 8443 },
          { name: "dns", port: 80, protocol: "UDP" },
        ],
        sessionAffinity: "ClientIP",
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
        externalTrafficPolicy: "Local",
        internalTrafficPolicy: "Local",
        externalIPs: ["192.0.2.7"],
        loadBalancerSourceRanges: ["192.0.2.0/24"],
        loadBalancerClass: "example.com/lb",
        allocateLoadBalancerNodePorts: true,
        publishNotReadyAddresses: true,
        ipFamilyPolicy: "SingleStack",
        ipFamilies: ["IPv4"],
        trafficDistribution: "PreferClose",
      },
    },
  },
  {
    apiVersion: "v1",
    kind: "Endpoints",
    resource: "endpoints",
    namespaced: true,
    minimal: {},
    rich: {
      subsets: [
        {
          addresses: [
            { ip: "10.1.0.1", hostname: "web-1", nodeName: "node-1", targetRef: target },
            { ip: "10.1.0.2" },
          ],
          notReadyAddresses: [{ ip: "10.1.0.3" }],
          ports: [
            { name: "http", port: 8080, protocol: "TCP", appProtocol: "http" },
            { name: "dns", port: 53, protocol: "UDP" },
          ],
        },
        { addresses: [{ ip: "2001:db8::1" }], ports: [{ port: 443 }] },
      ],
    },
  },
  {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    resource: "endpointslices",
    namespaced: true,
    minimal: { addressType: "IPv4", endpoints: [] },
    rich: {
      addressType: "IPv4",
      endpoints: [
        {
          addresses: ["10.1.0.1"],
          conditions: { ready: true, serving: true, terminating: false },
          hostname: "web-1",
          nodeName: "node-1",
          zone: "z-1",
          targetRef: target,
          hints: { forZones: [{ name: "z-1" }] },
          deprecatedTopology: { rack: "r-1" },
        },
        { addresses: ["10.1.0.2"], conditions: { ready: false } },
      ],
      ports: [
        { name: "http", port: 8080, protocol: "TCP", appProtocol: "http" },
        { name: "dns", port: 53, protocol: "UDP" },
      ],
    },
  },
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    resource: "ingresses",
    namespaced: true,
    minimal: { spec: { defaultBackend: { service: { name: "web", port: { number: 80 } } } } },
    rich: {
      spec: {
        ingressClassName: "lockstep",
        defaultBackend: { service: { name: "fallback", port: { name: "http" } } },
        tls: [{ hosts: ["shop.example.com"], secretName: "shop-tls" }],
        rules: [
          {
            host: "shop.example.com",
            http: {
              paths: [
                {
                  path: "/",
                  pathType: "Prefix",
                  backend: { service: { name: "web", port: { number: 80 } } },
                },
                {
                  path: "/static",
                  pathType: "Exact",
                  backend: {
                    resource: { apiGroup: "example.com", kind: "Bucket", name: "static" },
                  },
                },
              ],
            },
          },
          {
            host: "*.example.com",
            http: {
              paths: [
                {
                  pathType: "ImplementationSpecific",
                  backend: { service: { name: "any", port: { name: "web" } } },
                },
              ],
            },
          },
        ],
      },
    },
  },
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "IngressClass",
    resource: "ingressclasses",
    namespaced: false,
    minimal: { spec: { controller: "example.com/controller" } },
    rich: {
      spec: {
        controller: "example.com/controller",
        parameters: { apiGroup: "example.com", kind: "Settings", name: "settings" },
      },
    },
  },
];
