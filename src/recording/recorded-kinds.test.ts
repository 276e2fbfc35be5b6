import { expect, test } from "vitest";
import { endpointSliceKind } from "../kube/kinds/endpoint-slice.ts";
import { endpointsKind } from "../kube/kinds/endpoints.ts";
import type { Kind, Projected } from "../kube/kinds/kind.ts";
import { nodeKind } from "../kube/kinds/node.ts";
import { podKind } from "../kube/kinds/pod.ts";
import { serviceKind } from "../kube/kinds/service.ts";
import { withJson } from "./recorded-kinds.ts";

const metadata = {
  namespace: "shop",
  name: "web",
  uid: "u",
  resourceVersion: "7",
  creationTimestamp: "2026-01-01T00:00:00Z",
  deletionTimestamp: "2026-01-01T00:01:00Z",
  deletionGracePeriodSeconds: 30,
  labels: { app: "web" },
  annotations: {
    "endpoints.kubernetes.io/last-change-trigger-time": "2026-01-01T00:00:30Z",
    "endpointslice.karmada.io/provision-cluster": "east",
  },
};

const targetRef = { kind: "Pod", namespace: "shop", name: "web-1", uid: "p" };

/** The fields that witnesses use, of objects that have all of them. */
const cases: readonly (readonly [Kind<Projected>, readonly string[], object])[] = [
  [
    podKind,
    "nodeName,hostNetwork,phase,podIP,secondPodIP,ready,readyTransitionTime,finishedAt,ports".split(
      ",",
    ),
    {
      spec: {
        nodeName: "n",
        hostNetwork: true,
        containers: [
          {
            name: "c",
            ports: [{ name: "http", containerPort: 8080, protocol: "TCP", hostIP: "x" }],
          },
          { name: "d", ports: [{ containerPort: 53, protocol: "UDP" }] },
        ],
      },
      status: {
        phase: "Failed",
        podIP: "10.0.0.1",
        podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }],
        conditions: [
          { type: "Ready", status: "False", lastTransitionTime: "2026-01-01T00:00:10Z" },
          { type: "ContainersReady", status: "False" },
        ],
        containerStatuses: [
          { name: "c", state: { terminated: { finishedAt: "2026-01-01T00:00:09Z" } } },
        ],
      },
    },
  ],
  [
    serviceKind,
    ["type", "selector", "ipFamilies", "publishNotReadyAddresses", "ports"],
    {
      spec: {
        type: "NodePort",
        selector: { app: "web" },
        ipFamilies: ["IPv6", "IPv4"],
        publishNotReadyAddresses: true,
        ports: [
          { name: "http", port: 80, targetPort: "http" },
          { name: "dns", port: 53, protocol: "UDP" },
        ],
      },
    },
  ],
  [
    endpointSliceKind,
    ["annotations", "addressType", "endpoints", "ports"],
    {
      addressType: "IPv6",
      endpoints: [
        { addresses: ["fd00::1"], conditions: { ready: false, serving: true }, targetRef },
      ],
      ports: [{ port: 8080 }],
    },
  ],
  [
    endpointsKind,
    ["annotations", "subsets"],
    {
      subsets: [
        {
          addresses: [{ ip: "10.0.0.1", targetRef }],
          notReadyAddresses: [{ ip: "10.0.0.2" }],
          ports: [{ port: 8080 }],
        },
      ],
    },
  ],
  [
    nodeKind,
    ["ready"],
    { status: { conditions: [{ type: "Ready", status: "Unknown", reason: "NodeStatusUnknown" }] } },
  ],
];

test.each(cases)("what is kept of $kind projects as the whole does", (kind, fields, rest) => {
  const raw = { metadata, ...rest };
  const whole = withJson(kind).project(raw);
  const pruned = JSON.parse(whole.json);
  const again = kind.project({
    ...pruned,
    metadata: { ...pruned.metadata, resourceVersion: metadata.resourceVersion },
  });
  const shown = (object: object) =>
    Object.fromEntries(Object.entries(object).filter(([field]) => fields.includes(field)));
  expect(shown(again)).toEqual(shown(whole));
  expect(Object.keys(shown(again))).toHaveLength(fields.length);
  expect(again.metadata).toEqual(whole.metadata);
});
