// A custom kind with every way a schema can say who owns what: lists by keys, as sets and as a
// whole, atomic and granular maps, defaults in keys, and parts that are left open.
import { type ApplyServer, type ApplyStep, send } from "./steps.ts";

export const widgetsPath = "/apis/apply.example.com/v1/namespaces/{case}/widgets";
export const widgetVersion = { apiVersion: "apply.example.com/v1", kind: "Widget" };

const port = {
  type: "object",
  required: ["port"],
  properties: {
    port: { type: "integer" },
    protocol: { type: "string", default: "TCP" },
    note: { type: "string" },
  },
};

const spec = {
  type: "object",
  properties: {
    size: { type: "integer" },
    limit: { "x-kubernetes-int-or-string": true },
    ports: {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["port", "protocol"],
      items: port,
    },
    tags: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
    order: { type: "array", items: { type: "string" } },
    place: {
      type: "object",
      "x-kubernetes-map-type": "atomic",
      properties: { x: { type: "integer" }, y: { type: "integer" } },
    },
    labels: { type: "object", additionalProperties: { type: "string" } },
    nested: {
      type: "object",
      properties: { a: { type: "string" }, b: { type: "string", default: "b" } },
    },
    open: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  },
};

const definition: ApplyStep = {
  method: "POST",
  path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
  body: {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.apply.example.com" },
    spec: {
      group: "apply.example.com",
      scope: "Namespaced",
      names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: {
              type: "object",
              properties: {
                spec,
                status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
              },
            },
          },
        },
      ],
    },
  },
};

/** Polls between two looks, and how often. */
const pollMs = 200;
const maxPolls = 150;

/** Returns when the kind is served. */
export async function installWidgets(server: ApplyServer): Promise<void> {
  await send(server, definition, "default");
  for (let polls = 0; polls < maxPolls; polls++) {
    const { status } = await send(server, { method: "GET", path: widgetsPath }, "default");
    if (status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  throw new Error(`${server.url} does not serve widgets`);
}
