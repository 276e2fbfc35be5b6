import { expect, test } from "vitest";
import { sourceService } from "../../../tests/syncing/offers.ts";
import { isClusterName } from "./copy-names.ts";
import { NamespaceSelection, type SelectedNamespaces } from "./service-selection.ts";

const wish = (value: string) => ({ labels: { "lockstep.dev/sync": value } });
const withoutSelector = { spec: { selector: undefined } };

test.each([
  ["a named namespace", {}, { shop: true, none: false, all: true }],
  ["a label that says yes", wish("true"), { shop: true, none: true, all: true }],
  ["a label that says no", wish("false"), { shop: false, none: false, all: false }],
  ["no selector", withoutSelector, { shop: false, none: false, all: false }],
  [
    "no selector and a label that says yes",
    { ...withoutSelector, ...wish("true") },
    { shop: true, none: true, all: true },
  ],
  [
    "a name for another host",
    { spec: { type: "ExternalName", externalName: "x.org" }, ...wish("true") },
    { shop: false, none: false, all: false },
  ],
  [
    "a copy that Lockstep made, whatever its labels say",
    { labels: { "app.kubernetes.io/managed-by": "lockstep.dev", "lockstep.dev/sync": "true" } },
    { shop: false, none: false, all: false },
  ],
])("a service with %s is synced where it should be", (_, fields, expected) => {
  const selected = (namespaces: SelectedNamespaces) =>
    new NamespaceSelection(namespaces).isSelected(sourceService(fields));
  expect({
    shop: selected(new Set(["shop"])),
    none: selected(new Set()),
    all: selected("all"),
  }).toEqual(expected);
});

test.each([
  ["lab-1", true],
  ["1", true],
  ["", false],
  ["Lab", false],
  ["a_b", false],
  ["-a", false],
  ["a-", false],
  ["a.b", false],
  ["arn:aws:eks:eu-west-1:1:cluster/pay", false],
  ["a".repeat(63), true],
  ["a".repeat(64), false],
])("whether %j can name a cluster: %s", (name, expected) => {
  expect(isClusterName(name)).toBe(expected);
});
