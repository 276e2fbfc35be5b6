// The effect of apply on the fields of an object and on their owners.
import { configMap, get, map } from "./case-objects.ts";
import { type ApplyCase, apply } from "./steps.ts";

const both = configMap({ a: "1", b: "2" });

export const mergeCases: readonly ApplyCase[] = [
  {
    name: "creates, updates and removes what is no longer applied",
    steps: [
      apply(map, "one", both),
      apply(map, "one", configMap({ a: "1", c: "3" })),
      apply(map, "one", configMap({})),
      apply(map, "one", { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } }),
      get(map),
    ],
  },
  {
    name: "refuses to take fields from others, and takes them by force",
    steps: [
      apply(map, "one", both),
      apply(map, "two", configMap({ a: "3", b: "4" })),
      apply(map, "two", configMap({ a: "3" })),
      apply(map, "two", configMap({ a: "3" }), "&force=true"),
      apply(map, "one", both),
      apply(map, "three", configMap({ a: "1", b: "2" }), "&force=true"),
      get(map),
    ],
  },
  {
    name: "shares fields with equal values, and removes them with the last owner",
    steps: [
      apply(map, "one", both),
      apply(map, "two", configMap({ a: "1" })),
      apply(map, "one", configMap({ b: "2" })),
      apply(map, "two", configMap({})),
      get(map),
    ],
  },
  {
    name: "writes nothing when nothing changes",
    steps: [apply(map, "one", both), apply(map, "one", both), get(map)],
  },
  {
    name: "changes nothing in a dry run",
    steps: [
      apply(map, "one", both, "&dryRun=All"),
      get(map),
      apply(map, "one", both),
      apply(map, "one", configMap({ a: "5" }), "&dryRun=All"),
      get(map),
    ],
  },
];
