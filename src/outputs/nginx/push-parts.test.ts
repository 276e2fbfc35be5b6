import { expect, it } from "vitest";
import type { ProxyEntry } from "./proxy-state.ts";
import { partBody, partsOf } from "./push-parts.ts";

const host = (name: string, value?: string): ProxyEntry => ({
  kind: "host",
  name,
  value,
  version: 0,
});
const service = (name: string, value?: string): ProxyEntry => ({
  kind: "service",
  name,
  value,
  version: 1,
});

it("orders a push so that no host refers to a service that is not there", () => {
  const entries = [service("old"), host("gone"), host("new", "[]"), service("web", "{}")];
  expect(partsOf(entries).map((part) => part.map(({ name }) => name))).toEqual([
    ["web", "new", "gone", "old"],
  ]);
});

it("cuts a push into parts of bounded size; what is larger goes alone", () => {
  const entries = ["a", "b", "c", "d"].map((name) =>
    service(name, `"${name.repeat(name === "c" ? 50 : 5)}"`),
  );
  expect(partsOf(entries, 20).map((part) => part.map(({ name }) => name))).toEqual([
    ["a", "b"],
    ["c"],
    ["d"],
  ]);
});

it("has no part when there is nothing to push", () => {
  expect(partsOf([])).toEqual([]);
});

it("writes hostile names as text, and a removal as null", () => {
  const body = partBody([service('a"}\n', "{}"), host("*"), host("h", "[]")]);
  expect(JSON.parse(body)).toEqual({ services: { 'a"}\n': {} }, hosts: { "*": null, h: [] } });
});
