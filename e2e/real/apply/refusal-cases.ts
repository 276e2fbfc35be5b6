// Configurations that are refused, and bodies that are read in a particular way.
import { configMap, deployment, deploymentOf, get, map } from "./case-objects.ts";
import { type ApplyCase, apply, applyType, mergePatch } from "./steps.ts";

const both = configMap({ a: "1", b: "2" });

export const refusalCases: readonly ApplyCase[] = [
  {
    name: "refuses configurations that do not fit",
    steps: [
      apply(map, "one", { ...both, foo: 1 }),
      apply(map, "one", configMap({ a: 1 })),
      apply(map, "one", configMap([1])),
      apply(map, "one", configMap({ a: { b: 1 } })),
      apply(map, "one", { ...both, immutable: "yes" }),
      apply(map, "one", { ...both, kind: "Secret" }),
      apply(map, "one", { ...both, apiVersion: "v2" }),
      apply(map, "one", { ...both, metadata: { name: "a", managedFields: [] } }),
      apply(map, "one", { ...both, metadata: { name: "b" } }),
      apply(map, "one", { ...both, metadata: {} }),
      apply(map, "one", { ...both, metadata: { name: "a", namespace: "elsewhere" } }),
      apply(map, "one", { ...both, metadata: { name: "a", uid: "1234" } }),
      apply(map, "one", ""),
      apply(map, "one", " "),
      apply(map, "one", "[1]"),
      { method: "PATCH", path: map, body: both, contentType: applyType },
      apply(map, "x".repeat(129), both),
      apply(map, "x%0Ay", both),
      { ...mergePatch(map, "one", {}), path: `${map}?force=true` },
      apply(map, "one", { ...both, metadata: { name: "a", resourceVersion: "1" } }),
      apply(map, "one", { ...both, metadata: { name: "a", resourceVersion: "1" } }),
      apply(`${deployment}/status`, "one", deploymentOf({})),
      apply(`${deployment}/scale`, "one", { apiVersion: "autoscaling/v1", kind: "Scale" }),
    ],
  },
  {
    name: "reads YAML, and has an opinion on repeated keys",
    steps: [
      apply(map, "one", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: '1'\n"),
      apply(
        map,
        "one",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: '1'\n  a: '2'\n",
      ),
      apply(
        map,
        "one",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: '1'\n  a: '2'\n",
        "&fieldValidation=Strict",
      ),
      get(map),
    ],
  },
];
