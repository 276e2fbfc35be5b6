// The rules of each kind, as the answers to objects that break them.
import { describe, expect, test } from "vitest";
import { failure, inApiWorld } from "../../../tests/apiserver/api-world.ts";
import { objectAt, objectsAt, textAt } from "./fields.ts";

const paths = {
  ConfigMap: "/api/v1/namespaces/default/configmaps",
  DaemonSet: "/apis/apps/v1/namespaces/default/daemonsets",
  Deployment: "/apis/apps/v1/namespaces/default/deployments",
  Endpoints: "/api/v1/namespaces/default/endpoints",
  EndpointSlice: "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
  Event: "/api/v1/namespaces/default/events",
  Ingress: "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
  IngressClass: "/apis/networking.k8s.io/v1/ingressclasses",
  Lease: "/apis/coordination.k8s.io/v1/namespaces/default/leases",
  Namespace: "/api/v1/namespaces",
  Node: "/api/v1/nodes",
  Pod: "/api/v1/namespaces/default/pods",
  ReplicationController: "/api/v1/namespaces/default/replicationcontrollers",
  Secret: "/api/v1/namespaces/default/secrets",
  Service: "/api/v1/namespaces/default/services",
} as const;

const container = { name: "c", image: "i" };
const template = { metadata: { labels: { a: "b" } }, spec: { containers: [container] } };

const invalid: readonly {
  kind: keyof typeof paths;
  why: string;
  body: object;
  errors: readonly string[];
}[] = [
  {
    kind: "Pod",
    why: "without containers",
    body: {},
    errors: ["spec.containers: Required value"],
  },
  {
    kind: "Pod",
    why: "with two containers of one name, a bad port and a mount of nothing",
    body: {
      spec: {
        containers: [
          container,
          {
            ...container,
            ports: [{ containerPort: 70_000 }],
            volumeMounts: [{ name: "v", mountPath: "/v" }],
          },
        ],
      },
    },
    errors: [
      "spec.containers[1].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
      'spec.containers[1].volumeMounts[0].name: Not found: "v"',
      'spec.containers[1].name: Duplicate value: "c"',
    ],
  },
  {
    kind: "Pod",
    why: "with a probe that does nothing",
    body: { spec: { containers: [{ ...container, readinessProbe: { periodSeconds: -1 } }] } },
    errors: [
      "spec.containers[0].readinessProbe: Required value: must specify a handler type",
      "spec.containers[0].readinessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0",
    ],
  },
  {
    kind: "Service",
    why: "without ports",
    body: { spec: { selector: { a: "b" } } },
    errors: ["spec.ports: Required value"],
  },
  {
    kind: "Service",
    why: "with nameless, equal ports",
    body: { spec: { ports: [{ port: 80 }, { port: 80 }] } },
    errors: [
      "spec.ports[0].name: Required value",
      "spec.ports[1].name: Required value",
      'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}',
    ],
  },
  {
    kind: "Service",
    why: "with a strange address",
    body: { spec: { clusterIP: "10.0.0.300", ports: [{ port: 80 }] } },
    errors: [
      'spec.clusterIPs[0]: Invalid value: "10.0.0.300": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ],
  },
  {
    kind: "Service",
    why: "by an external name that is missing",
    body: { spec: { type: "ExternalName" } },
    errors: ["spec.externalName: Required value"],
  },
  {
    kind: "Endpoints",
    why: "with an empty subset and a bad address",
    body: { subsets: [{ ports: [] }, { addresses: [{ ip: "nowhere" }], ports: [{ port: 0 }] }] },
    errors: [
      "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`",
      'subsets[1].addresses[0].ip: Invalid value: "nowhere": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      'subsets[1].addresses[0].ip: Invalid value: "nowhere": must be a valid IP address',
      "subsets[1].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
    ],
  },
  {
    kind: "EndpointSlice",
    why: "without an address type",
    body: { endpoints: [{ addresses: [] }] },
    errors: [
      "addressType: Required value",
      "endpoints[0].addresses: Required value: must contain at least 1 address",
    ],
  },
  {
    kind: "EndpointSlice",
    why: "with an address of the other family and a port name twice",
    body: {
      addressType: "IPv4",
      endpoints: [{ addresses: ["::1"] }],
      ports: [{ port: 80 }, { port: 81 }],
    },
    errors: [
      'ports[1].name: Duplicate value: ""',
      'endpoints[0].addresses: Invalid value: "::1": must be an IPv4 address',
    ],
  },
  {
    kind: "Ingress",
    why: "with nothing to route to",
    body: { spec: {} },
    errors: ["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"],
  },
  {
    kind: "Ingress",
    why: "with a bad path and backend",
    body: {
      spec: {
        rules: [
          {
            host: "10.0.0.1",
            http: { paths: [{ path: "a//b", pathType: "Prefix", backend: { service: {} } }] },
          },
        ],
      },
    },
    errors: [
      'spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address',
      'spec.rules[0].http.paths[0].path: Invalid value: "a//b": must be an absolute path',
      "spec.rules[0].http.paths[0].path: Invalid value: \"a//b\": must not contain '//'",
      "spec.rules[0].http.paths[0].backend.service.name: Required value",
      "spec.rules[0].http.paths[0].backend: Required value: port name or number is required",
    ],
  },
  {
    kind: "Deployment",
    why: "whose selector does not match its template",
    body: { spec: { replicas: -1, selector: { matchLabels: { a: "other" } }, template } },
    errors: [
      "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
      'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`',
    ],
  },
  {
    kind: "Deployment",
    why: "without a selector",
    body: { spec: { template } },
    errors: [
      "spec.selector: Required value",
      'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`',
    ],
  },
  {
    kind: "ConfigMap",
    why: "with a bad key",
    body: { data: { "a/b": "c" } },
    errors: [
      "data[a/b]: Invalid value: \"a/b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
    ],
  },
  {
    kind: "DaemonSet",
    why: "without a selector",
    body: { spec: { template } },
    errors: [
      'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`',
    ],
  },
  {
    kind: "ReplicationController",
    why: "whose pods have no labels to select",
    body: { spec: { replicas: -1, template: { ...template, metadata: {} } } },
    errors: [
      "spec.selector: Required value",
      "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
    ],
  },
  {
    kind: "Secret",
    why: "of TLS type without a key",
    body: { type: "kubernetes.io/tls", data: { "tls.crt": "" } },
    errors: ["data[tls.key]: Required value"],
  },
  {
    kind: "Lease",
    why: "that lasts no time",
    body: { spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } },
    errors: [
      "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
      "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
    ],
  },
  {
    kind: "Event",
    why: "about an object of another namespace",
    body: { involvedObject: { namespace: "other" } },
    errors: ['involvedObject.namespace: Invalid value: "other": does not match event.namespace'],
  },
];

describe("an object is refused:", () => {
  test.each(invalid)("$kind $why", ({ kind, body, errors }) =>
    inApiWorld(async ({ call }) => {
      const { status, json } = await call("POST", paths[kind], {
        metadata: { name: "a" },
        ...body,
      });
      expect(status).toBe(422);
      const causes = objectsAt(json, "details", "causes");
      expect(
        causes.map((cause) => `${textAt(cause, "field")}: ${textAt(cause, "message")}`),
      ).toEqual(errors);
      expect((await call("GET", `${paths[kind]}/a`)).status).toBe(404);
    }),
  );
});

const metadataCases: readonly { why: string; metadata: object; error: string }[] = [
  {
    why: "a label key with two slashes",
    metadata: { labels: { "a/b/c": "d" } },
    error:
      "metadata.labels: Invalid value: \"a/b/c\": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
  },
  {
    why: "a label value that is too long",
    metadata: { labels: { a: "x".repeat(64) } },
    error: `metadata.labels: Invalid value: "${"x".repeat(64)}": must be no more than 63 bytes`,
  },
  {
    why: "annotations of more than 256 KiB",
    metadata: { annotations: { a: "x".repeat(262_144) } },
    error: "metadata.annotations: Too long: may not be more than 262144 bytes",
  },
  {
    why: "an owner without a uid",
    metadata: { ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p" }] },
    error: 'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
  },
];

describe("metadata is refused for", () => {
  test.each(metadataCases)("$why", ({ metadata, error }) =>
    inApiWorld(async ({ call }) => {
      const { json } = await call("POST", paths.ConfigMap, {
        metadata: { name: "a", ...metadata },
      });
      expect(textAt(json, "message")).toBe(`ConfigMap "a" is invalid: ${error}`);
    }),
  );
});

describe("what may not change:", () => {
  const merge = { contentType: "application/merge-patch+json" };

  test("the data of an immutable ConfigMap", () =>
    inApiWorld(async ({ call }) => {
      const body = { metadata: { name: "a" }, immutable: true, data: { a: "b" } };
      await call("POST", paths.ConfigMap, body);
      const { json } = await call("PATCH", `${paths.ConfigMap}/a`, { data: { a: "c" } }, merge);
      expect(json).toEqual(
        failure(
          422,
          "Invalid",
          'ConfigMap "a" is invalid: data: Forbidden: field is immutable when `immutable` is set',
          {
            name: "a",
            kind: "ConfigMap",
            causes: [
              {
                reason: "FieldValueForbidden",
                message: "Forbidden: field is immutable when `immutable` is set",
                field: "data",
              },
            ],
          },
        ),
      );
    }));

  test("the selector of a Deployment, though its generation follows the rest of the spec", () =>
    inApiWorld(async ({ call }) => {
      const spec = { selector: { matchLabels: { a: "b" } }, template };
      await call("POST", paths.Deployment, { metadata: { name: "a" }, spec });
      const path = `${paths.Deployment}/a`;
      const change = { spec: { selector: { matchLabels: { c: "d" } } } };
      expect((await call("PATCH", path, change, merge)).status).toBe(422);
      const scaled = await call("PATCH", path, { spec: { replicas: 3 } }, merge);
      expect(objectAt(scaled.json, "metadata")).toMatchObject({ generation: 2 });
      const labelled = await call("PATCH", path, { metadata: { labels: { x: "y" } } }, merge);
      expect(objectAt(labelled.json, "metadata")).toMatchObject({ generation: 2 });
    }));

  test("the cluster IP of a Service", () =>
    inApiWorld(async ({ call }) => {
      const spec = { ports: [{ port: 80 }] };
      await call("POST", paths.Service, { metadata: { name: "a" }, spec });
      const change = { spec: { clusterIP: "10.96.9.9", clusterIPs: ["10.96.9.9"] } };
      const { json } = await call("PATCH", `${paths.Service}/a`, change, merge);
      expect(textAt(json, "message")).toBe(
        'Service "a" is invalid: spec.clusterIPs[0]: Invalid value: ["10.96.9.9"]: may not change once set',
      );
    }));
});

test("a Secret's plain texts become data", () =>
  inApiWorld(async ({ call }) => {
    const { json } = await call("POST", paths.Secret, {
      metadata: { name: "a" },
      stringData: { key: "value" },
    });
    expect(json).toMatchObject({ type: "Opaque", data: { key: "dmFsdWU=" } });
    expect(json).not.toHaveProperty("stringData");
  }));
