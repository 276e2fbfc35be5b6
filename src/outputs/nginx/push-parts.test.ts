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

const other = (kind: "certificate" | "serverName", name: string, value?: string): ProxyEntry => ({
  kind,
  name,
  value,
  version: 0,
});

it("orders a push so that nothing refers to what is not there", () => {
  const entries = [
    service("old"),
    other("certificate", "old-tls"),
    host("gone"),
    other("serverName", "gone"),
    other("serverName", "new", '"tls"'),
    host("new", "[]"),
    other("certificate", "tls", "{}"),
    service("web", "{}"),
  ];
  expect(partsOf(entries).map((part) => part.map(({ kind, name }) => `${kind} ${name}`))).toEqual([
    [
      "service web",
      "certificate tls",
      "host new",
      "serverName new",
      "serverName gone",
      "host gone",
      "certificate old-tls",
      "service old",
    ],
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
  const names = [other("serverName", "*", '"a/b"'), other("certificate", "a/b", "{}")];
  const body = partBody([service('a"}\n', "{}"), host("*"), host("h", "[]"), ...names]);
  expect(JSON.parse(body)).toEqual({
    services: { 'a"}\n': {} },
    certificates: { "a/b": {} },
    hosts: { "*": null, h: [] },
    serverNames: { "*": "a/b" },
  });
});
