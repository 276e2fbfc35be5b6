import { describe, expect, it } from "vitest";
import {
  decisionOf,
  everythingChanged,
  servicesChanged,
} from "../../../tests/nginx/short-decision.ts";
import { ingress, path } from "../../../tests/routing/short-ingress.ts";
import { Routing } from "../../decide/routing/routing.ts";
import { type ProxyEntry, ProxyState } from "./proxy-state.ts";

const web = decisionOf({
  hosts: { "a.example": "d/web:80" },
  services: { "d/web:80": ["10.0.0.1:80", "10.0.0.2:80"] },
});

describe("a proxy state", () => {
  it("has every entry to push at first, and none once it was taken", () => {
    const state = new ProxyState();
    state.apply(web, everythingChanged(web, 7));
    expect(state.takeUnpushed()).toEqual([
      {
        kind: "service",
        name: "d/web:80",
        value:
          '{"tiers":[2],"addresses":["10.0.0.1","10.0.0.2"],"ports":[80,80],"slots":[1,2],' +
          '"names":["c1/10.0.0.1","c1/10.0.0.2"]}',
        version: 7,
      },
      {
        kind: "host",
        name: "a.example",
        value: '[{"path":"/","type":"Prefix","service":"d/web:80"}]',
        version: 0,
      },
    ]);
    expect(state.hasUnpushed).toBe(false);
    expect(state.takeUnpushed()).toEqual([]);
  });

  it("puts those for ordinary times first and leaves out those that are out", () => {
    const state = new ProxyState();
    const decision = decisionOf({
      hosts: {},
      services: {
        s: [
          "1.1.1.1:1 suspect",
          "1.1.1.2:1",
          "1.1.1.3:1 out",
          "1.1.1.4:1 draining",
          "1.1.1.5:1 held",
        ],
      },
    });
    state.apply(decision, everythingChanged(decision));
    expect(valuesOf(state.takeUnpushed())).toEqual({
      s: {
        tiers: [2, 1, 1],
        addresses: ["1.1.1.2", "1.1.1.5", "1.1.1.4", "1.1.1.1"],
        ports: [1, 1, 1, 1],
        slots: [1, 2, 3, 4],
        names: ["c1/1.1.1.2", "c1/1.1.1.5", "c1/1.1.1.4", "c1/1.1.1.1"],
      },
    });
  });

  it("names an address and port once, though two sources list it", () => {
    const state = new ProxyState();
    const decision = decisionOf({
      hosts: {},
      services: { s: ["1.1.1.1:1 draining", "1.1.1.1:1", "1.1.1.1:2"] },
    });
    state.apply(decision, everythingChanged(decision));
    expect(valuesOf(state.takeUnpushed())).toEqual({
      s: {
        tiers: [2],
        addresses: ["1.1.1.1", "1.1.1.1"],
        ports: [1, 2],
        slots: [1, 2],
        names: ["c1/1.1.1.1", "c1/1.1.1.1"],
      },
    });
  });

  it("keeps an endpoint's slot while any service has it", () => {
    const state = new ProxyState();
    const both = decisionOf({ hosts: {}, services: { s: ["1.1.1.1:1"], t: ["1.1.1.1:1"] } });
    state.apply(both, everythingChanged(both, 1));
    expect(valuesOf(state.takeUnpushed())).toMatchObject({ s: { slots: [1] }, t: { slots: [1] } });
    const moved = decisionOf({ hosts: {}, services: { s: ["1.1.1.2:1"], t: ["1.1.1.1:1"] } });
    state.apply(moved, servicesChanged({ s: 2, t: 2 }));
    expect(valuesOf(state.takeUnpushed())).toMatchObject({ s: { slots: [2] } });
    expect(state.slots.endpointAt(1)).toBe("1.1.1.1 1 uid-of-1.1.1.1:1");
  });

  it("has nothing to push for a new version that changes nothing, but says that it is routed", () => {
    const state = new ProxyState();
    state.apply(web, everythingChanged(web, 1));
    state.takeUnpushed();
    state.apply(web, servicesChanged({ "d/web:80": 2 }));
    expect(state.hasUnpushed).toBe(false);
    expect(state.takeSettled()).toEqual([{ name: "d/web:80", version: 2 }]);
    expect(state.takeSettled()).toEqual([]);
  });

  it("pushes the newest version when several came since", () => {
    const state = new ProxyState();
    state.apply(web, everythingChanged(web, 1));
    state.apply(web, servicesChanged({ "d/web:80": 2 }));
    expect(state.takeSettled()).toEqual([]);
    expect(state.takeUnpushed().map(({ version }) => version)).toEqual([2, 0]);
  });

  it("removes a host and a service that the decision no longer has, once", () => {
    const state = new ProxyState();
    state.apply(web, everythingChanged(web));
    state.takeUnpushed();
    const nothing = decisionOf({ hosts: {}, services: {} });
    state.apply(nothing, { routes: true, services: new Map([["d/web:80", 2]]) });
    const removed = [
      { kind: "host", name: "a.example", value: undefined, version: 0 },
      { kind: "service", name: "d/web:80", value: undefined, version: 2 },
    ];
    expect(state.takeUnpushed()).toEqual(removed);
    expect(state.takeAll()).toEqual([]);
    state.apply(nothing, { routes: true, services: new Map() });
    expect(state.takeUnpushed()).toEqual([]);
  });

  it("tells again what is given back, in its newest form", () => {
    const state = new ProxyState();
    state.apply(web, everythingChanged(web, 1));
    const failed = state.takeUnpushed();
    const grown = decisionOf({
      hosts: { "a.example": "d/web:80" },
      services: { "d/web:80": ["10.0.0.3:80"] },
    });
    state.apply(grown, servicesChanged({ "d/web:80": 2 }));
    state.giveBack(failed);
    expect(valuesOf(state.takeUnpushed())).toEqual({
      "d/web:80": {
        tiers: [1],
        addresses: ["10.0.0.3"],
        ports: [80],
        slots: [3],
        names: ["c1/10.0.0.3"],
      },
      "a.example": [{ path: "/", type: "Prefix", service: "d/web:80" }],
    });
  });

  it("leaves a version that makes no difference to the push that has to be repeated", () => {
    const state = new ProxyState();
    state.apply(web, everythingChanged(web, 1));
    const failed = state.takeUnpushed();
    state.apply(web, servicesChanged({ "d/web:80": 2 }));
    state.giveBack(failed);
    state.apply(web, servicesChanged({ "d/web:80": 3 }));
    expect(state.takeUnpushed().map(({ version }) => version)).toEqual([3, 0]);
    expect(state.takeSettled()).toEqual([]);
  });

  it("tells a removal again when its push failed", () => {
    const state = new ProxyState();
    state.apply(web, everythingChanged(web, 1));
    state.takeUnpushed();
    const nothing = decisionOf({ hosts: {}, services: {} });
    state.apply(nothing, { routes: true, services: new Map() });
    const failed = state.takeUnpushed();
    state.giveBack(failed);
    expect(state.takeUnpushed()).toEqual(failed);
  });
});

describe("hosts that share", () => {
  const networks = Array.from({ length: 1_000 }, (_, n) => `10.${n >> 8}.${n & 255}.0/24`);
  const names = Array.from({ length: 25 }, (_, n) => `alias-${n}.example`);
  const paths = Array.from({ length: 180 }, (_, n) => path(`/part-${n}`, "web"));
  const large = ingress("large", [{ host: "large.example", paths }], {
    annotations: {
      "lockstep.dev/allowlist-source-range": networks.join(","),
      "lockstep.dev/server-alias": names.join(","),
    },
  });

  it("have one text of their policy and one of their rules", () => {
    const routing = new Routing({ className: "lockstep" });
    const state = new ProxyState();
    const tell = (ingresses: readonly (typeof large)[]) =>
      state.apply(
        { ...routing.decide({ ingresses, classes: [] }), services: new Map() },
        { routes: true, services: new Map() },
      );
    tell([large]);
    const entries = state.takeUnpushed();
    expect(entries.filter(({ kind }) => kind === "policy")).toHaveLength(1);
    expect(entries.find(({ name }) => name === "alias-7.example")?.value).toBe('"large.example"');
    const bytes = entries.reduce((sum, { value = "" }) => sum + value.length, 0);
    expect(bytes).toBeLessThan(50_000);
    tell([]);
    expect(state.takeUnpushed().every(({ value }) => value === undefined)).toBe(true);
    expect([...state.present()]).toEqual([]);
  });

  it("have their own rules as soon as they differ", () => {
    const taker = ingress("taker", [{ host: "alias-0.example", paths: [path("/", "own")] }]);
    const named = ingress("named", [{ host: "large.example", paths: [path("/", "more")] }]);
    const { sameAs } = new Routing({ className: "lockstep" }).decide({
      ingresses: [large, taker, named],
      classes: [],
    });
    expect(sameAs.get("alias-0.example")).toBeUndefined();
    expect(sameAs.get("alias-1.example")).toBe("large.example");
  });
});

function valuesOf(entries: readonly ProxyEntry[]): Record<string, unknown> {
  return Object.fromEntries(entries.map(({ name, value }) => [name, JSON.parse(value ?? "null")]));
}
