// Writes the roles and bindings every cluster starts with, read from a running kube-apiserver:
//   kubectl get clusterroles,clusterrolebindings,roles,rolebindings -A -o json |
//     node scripts/generate-bootstrap-roles.mjs v1.36.0
import { readFileSync, writeFileSync } from "node:fs";

const version = process.argv[2];
if (version === undefined) throw new Error("the version of the server is missing");
const { items } = JSON.parse(readFileSync(0, "utf8"));
const mark = "/aggregate-to-";
const after = (label) => label.slice(label.indexOf(mark) + mark.length);

const roles = items.filter(({ kind }) => kind.endsWith("Role")).map(roleOf);
const bindings = items.filter(({ kind }) => kind.endsWith("Binding")).map(bindingOf);
const file = new URL("../src/apiserver/access/bootstrap-roles.json", import.meta.url);
const lines = (list) => list.map((one) => `    ${JSON.stringify(one)}`).join(",\n");
writeFileSync(
  file,
  `{
  "madeFrom": "kube-apiserver ${version}",
  "roles": [
${lines(roles)}
  ],
  "bindings": [
${lines(bindings)}
  ]
}
`,
);

function roleOf({ metadata, rules, aggregationRule }) {
  const { name, namespace, labels } = metadata;
  const label = Object.keys(labels).find((key) => key.includes(mark));
  const selector = aggregationRule?.clusterRoleSelectors[0].matchLabels;
  return {
    name,
    namespace,
    aggregatesTo: label && after(label),
    gathers: selector && after(Object.keys(selector)[0]),
    // The collected rules of an aggregated role are not its own.
    rules: selector ? [] : (rules ?? []).map(ruleOf),
  };
}

function ruleOf({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }) {
  if (nonResourceURLs) return `${verbs} @ ${nonResourceURLs}`;
  const groups = apiGroups.map((group) => group || "core");
  return [verbs, groups, resources, ...(resourceNames ? [resourceNames] : [])].join(" | ");
}

function bindingOf({ metadata: { name, namespace }, roleRef, subjects = [] }) {
  const who = ({ kind, namespace: home, name: own }) =>
    `${kind} ${home === undefined ? own : `${home}/${own}`}`;
  return { name, namespace, role: roleRef.name, subjects: subjects.map(who) };
}
