import { expect, test } from "vitest";
import { wholeClusterRoles } from "../whole-object.ts";
import { gatheredRules } from "./role-aggregation.ts";

const role = (name: string, labels: Record<string, string>, fields: object) =>
  wholeClusterRoles.project({
    metadata: { name, labels, uid: name, resourceVersion: "1" },
    ...fields,
  });

const rule = (resource: string) => ({ apiGroups: [""], resources: [resource], verbs: ["get"] });

test("a sum has each rule of the selected roles once, by the names of the roles", () => {
  const sum = role(
    "sum",
    { team: "a" },
    {
      aggregationRule: {
        clusterRoleSelectors: [
          { matchLabels: { team: "a" } },
          {
            matchExpressions: [
              { key: "team", operator: "In", values: ["b", "c"] },
              { key: "retired", operator: "DoesNotExist" },
            ],
          },
        ],
      },
      rules: [rule("leftover")],
    },
  );
  const roles = [
    sum,
    role("z", { team: "a" }, { rules: [rule("pods")] }),
    role("b", { team: "a" }, { rules: [rule("services"), rule("pods")] }),
    role("c", { team: "b" }, { rules: [rule("services"), rule("nodes")] }),
    role("d", { team: "c", retired: "" }, { rules: [rule("secrets")] }),
    role("e", {}, { rules: [rule("secrets")] }),
  ];
  expect(gatheredRules(sum, roles)).toEqual([rule("services"), rule("pods"), rule("nodes")]);
});
