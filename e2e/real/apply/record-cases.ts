// The recorded owners of fields, after any kind of write.
import { configMap, get, map, maps, post, put } from "./case-objects.ts";
import { type ApplyCase, apply, mergePatch } from "./steps.ts";

const both = configMap({ a: "1", b: "2" });

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

export const recordCases: readonly ApplyCase[] = [
  {
    name: "records who creates, replaces and patches, by name or user agent",
    steps: [
      post(maps, configMap({ a: "1" }, { labels: { x: "y" } })),
      put(map, configMap({ a: "2", b: "1" })),
      mergePatch(map, "patcher", { data: { a: null, c: "1" } }),
      { ...mergePatch(map, "", { data: { d: "1" } }), userAgent: "/no name" },
      put(`${map}?fieldManager=named`, configMap({ z: "1" })),
      get(map),
    ],
  },
  {
    name: "conflicts with those who updated",
    steps: [
      post(maps, both),
      apply(map, "one", configMap({ a: "9", b: "2" })),
      apply(map, "one", configMap({ a: "9", b: "2" }), "&force=true"),
      mergePatch(map, "patcher", { data: { a: "0" } }),
      apply(map, "one", configMap({ a: "9" })),
      get(map),
    ],
  },
  {
    name: "takes an object without owners as it was before the first apply",
    steps: [
      post(maps, both),
      mergePatch(map, "patcher", { metadata: { managedFields: [{}] } }),
      apply(map, "one", configMap({ a: "9" })),
      apply(map, "one", configMap({ a: "9" }), "&force=true"),
      mergePatch(map, "patcher", { metadata: { managedFields: [] } }),
      mergePatch(map, "patcher", { data: { n: "1" } }),
      get(map),
    ],
  },
  {
    name: "takes managedFields from clients that write sensible ones",
    steps: [
      post(maps, both),
      mergePatch(map, "patcher", {
        metadata: {
          managedFields: [
            {
              manager: "other",
              operation: "Apply",
              apiVersion: "v1",
              fieldsType: "FieldsV1",
              fieldsV1: { "f:data": { "f:a": {} } },
            },
          ],
        },
        data: { c: "3" },
      }),
      mergePatch(map, "patcher", {
        metadata: { managedFields: [{ manager: "x", operation: "Nonsense" }] },
      }),
      mergePatch(map, "patcher", {
        metadata: {
          managedFields: [
            {
              manager: "old",
              operation: "Apply",
              apiVersion: "v0",
              fieldsType: "FieldsV1",
              fieldsV1: { "f:data": { "f:a": {} } },
            },
          ],
        },
        data: { d: "4" },
      }),
      apply(map, "one", configMap({ a: "5" })),
      get(map),
    ],
  },
  {
    name: "keeps ten who updated and merges the older ones",
    steps: [
      post(maps, configMap({ first: "1" }), "a00/1"),
      ...Array.from({ length: 14 }, (_, index) =>
        mergePatch(map, `a${String(index + 1).padStart(2, "0")}`, { data: { [`k${index}`]: "1" } }),
      ),
      get(map),
    ],
  },
  {
    name: "upgrades what kubectl applied by its client-side form",
    steps: [
      post(
        `${maps}?fieldManager=kubectl-client-side-apply`,
        configMap({ a: "1" }, { annotations: { [lastApplied]: JSON.stringify(both) } }),
      ),
      apply(map, "kubectl", configMap({ a: "2" })),
      apply(map, "kubectl", configMap({ a: "3", b: "1" })),
      mergePatch(map, "other", { data: { a: "7" } }),
      apply(map, "kubectl", configMap({ a: "3" })),
      apply(map, "someone", configMap({ a: "3" })),
      get(map),
    ],
  },
];
