import { describe, expect, it } from "vitest";
import {
  decisionOf,
  everythingChanged,
  servicesChanged,
} from "../../../tests/nginx/short-decision.ts";
import { ingress, path } from "../../../tests/routing/short-ingress.ts";
import type { PathRule, RoutingDecision } from "../../decide/decision.ts";
import { Routing } from "../../decide/routing/routing.ts";
import { storedBytes } from "./proxy-memory.ts";
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

/** A namespace that asks for far more than there is, beside one that asks for little. */
describe("memory that one namespace would fill", () => {
  const quietService = { "quiet/web:80": ["10.0.0.1:80"] };
  const quietHost = { "quiet.example": "quiet/web:80" };
  const owners = (hosts: readonly string[]) =>
    new Map(
      hosts.map((host, n) => [
        host,
        host.startsWith("quiet")
          ? { namespace: "quiet", createdAtMs: 1e6 }
          : { namespace: "flood", createdAtMs: n },
      ]),
    );
  const quiet = decisionOf({ hosts: quietHost, services: quietService });
  const bytesOf = (entries: readonly ProxyEntry[]) =>
    entries.reduce((sum, { name, value = "" }) => sum + storedBytes(name, value), 0);
  // Little, so that little fills it.
  const capacity = { routes: 1_000_000, certificates: 3_000_000 };
  const leastCapacity = { routes: 300_000, certificates: 3_000_000 };
  const isServed = (state: ProxyState) => {
    const present = new Map(
      [...state.present()].map(({ kind, name, value }) => [`${kind} ${name}`, value]),
    );
    const rules = present.get("host quiet.example");
    return present.has("service quiet/web:80") && rules !== undefined && rules !== "false";
  };
  const numbers = (length: number) => Array.from({ length }, (_, n) => n);

  const longRule = (n: number, type: "Prefix" | "Regex" = "Prefix"): readonly PathRule[] =>
    numbers(20).map((p) => ({
      path: `/${p}-${type === "Regex" ? "[a-z]{60}[0-9]{500}" : "x".repeat(1_000)}`,
      type,
      service: `flood/s${n}:80`,
    }));
  const hostsWith = (rules: (n: number) => readonly PathRule[], count: number) =>
    new Map([
      ...numbers(count).map((n) => [`${n}.flood.example`, rules(n)] as const),
      ...quiet.hosts,
    ]);

  it.each<[string, () => RoutingDecision]>([
    ["rules", () => ({ ...quiet, hosts: hostsWith(longRule, 100) })],
    [
      "short rules, each of which a worker makes a table of",
      () => {
        const rules = numbers(500).map((n): PathRule => {
          return { path: `/${n}`, type: "Prefix", service: "flood/s:80" };
        });
        return { ...quiet, hosts: hostsWith(() => rules, 10) };
      },
    ],
    [
      "regular expressions",
      () => ({ ...quiet, hosts: hostsWith((n) => longRule(n, "Regex"), 30) }),
    ],
    [
      "policies",
      () => {
        const policy = (n: number) => ({ denyFrom: [`10.0.0.${n % 256}`, "x".repeat(30_000 + n)] });
        const rule = (n: number): PathRule => ({
          path: "/",
          type: "Prefix",
          service: "flood/s:80",
          policy: policy(n),
        });
        return { ...quiet, hosts: hostsWith((n) => [rule(n)], 80) };
      },
    ],
    [
      "endpoints",
      () => {
        const peers = numbers(500).map((n) => `10.${n >> 8}.${n & 255}.7:80`);
        const services = Object.fromEntries(numbers(80).map((n) => [`flood/s${n}:80`, peers]));
        return decisionOf({ hosts: quietHost, services: { ...quietService, ...services } });
      },
    ],
    [
      "users",
      () => {
        const list = numbers(500).map((n) => [`user-${n}`, "x".repeat(150)] as const);
        return { ...quiet, users: new Map(numbers(60).map((n) => [`flood/u${n} file`, list])) };
      },
    ],
    [
      "canaries",
      () => {
        const header = { name: "X-Canary", pattern: "[a-z]{60}[0-9]{500}" };
        const canaries = numbers(20).map(() => ({ service: "flood/c:80", header }));
        const rule: PathRule = { path: "/", type: "Prefix", service: "flood/s:80" };
        return { ...quiet, hosts: hostsWith(() => [{ ...rule, policy: { canaries } }], 30) };
      },
    ],
    [
      "hosts",
      () => {
        const rule: PathRule = { path: "/", type: "Prefix", service: "flood/s:80" };
        return { ...quiet, hosts: hostsWith(() => [rule], 2_700) };
      },
    ],
    [
      "names for TLS",
      () => {
        const names = numbers(2_700).map((n) => [`${n}.flood.example`, "flood/tls"] as const);
        return { ...quiet, serverNames: new Map([...names, ["quiet.example", "quiet/tls"]]) };
      },
    ],
  ])(
    "is not filled by its %s: the other one's are served, now and after a restart",
    (_, decide) => {
      const decision = decide();
      const whole = { ...decision, owners: owners([...decision.hosts.keys()]) };
      const state = new ProxyState(leastCapacity);
      state.apply(whole, everythingChanged(whole));
      expect(isServed(state)).toBe(true);
      expect(bytesOf([...state.present()])).toBeLessThanOrEqual(leastCapacity.routes);
      const leftOut = state.leftOut();
      expect(new Set(leftOut.map(({ namespace }) => namespace))).toEqual(new Set(["flood"]));
      const restarted = new ProxyState(leastCapacity);
      restarted.apply(whole, everythingChanged(whole));
      expect(restarted.leftOut()).toEqual(leftOut);
      const less = { ...quiet, owners: owners(["quiet.example"]) };
      state.apply(less, everythingChanged(less));
      expect(state.leftOut()).toEqual([]);
      expect(isServed(state)).toBe(true);
    },
  );

  it("has slots for the other one's endpoints", () => {
    const peers = numbers(70_000).map((n) => `11.${n >> 16}.${(n >> 8) & 255}.${n & 255}:80`);
    const state = new ProxyState();
    for (const services of [{ "flood/s:80": peers }, { "flood/s:80": peers, ...quietService }]) {
      const decision = decisionOf({ hosts: quietHost, services });
      state.apply(decision, everythingChanged(decision));
    }
    const [slot] = JSON.parse(
      [...state.present()].find(({ name }) => name === "quiet/web:80")?.value ?? "{}",
    ).slots;
    expect(slot).toBeGreaterThan(0);
  });

  it("has room for the other one's certificates, and for all of its own that are small", () => {
    const pem = (bytes: number) => ({ chain: "x".repeat(bytes), key: "key" });
    const certificates = new Map([
      ["quiet/tls", pem(5_000)],
      ["flood/small", pem(100)],
      ...numbers(20).map((n) => [`flood/c${n}`, pem(400_000)] as const),
    ]);
    const state = new ProxyState(capacity);
    const decision = { ...quiet, certificates };
    state.apply(decision, everythingChanged(decision));
    const names = new Set([...state.present()].map(({ name }) => name));
    expect([names.has("quiet/tls"), names.has("flood/small")]).toEqual([true, true]);
    expect(bytesOf([...state.present()])).toBeLessThan(capacity.certificates + capacity.routes);
    expect(state.leftOut().every(({ namespace }) => namespace === "flood")).toBe(true);
  });

  it("has none for an entry that is larger than a push, however much is free", () => {
    const pem = (bytes: number) => ({ chain: "x".repeat(bytes), key: "key" });
    const certificates = new Map([
      ["quiet/tls", pem(5_000)],
      ["flood/tls", pem(4_000_000)],
    ]);
    const state = new ProxyState();
    const decision = { ...quiet, certificates };
    state.apply(decision, everythingChanged(decision));
    expect(state.leftOut().map(({ name }) => name)).toEqual(["flood/tls"]);
  });

  it("closes a host that is left out, and serves it again when there is room", () => {
    const state = new ProxyState(capacity);
    const decision = { ...quiet, hosts: hostsWith(longRule, 100) };
    const whole = { ...decision, owners: owners([...decision.hosts.keys()]) };
    state.apply(whole, everythingChanged(whole));
    const pushedAs = (host: string) =>
      [...state.present()].find(({ name }) => name === host)?.value;
    // The newest.
    expect(pushedAs("99.flood.example")).toBe("false");
    expect(pushedAs("0.flood.example")).not.toBe("false");
    while (state.hasUnpushed) state.takeUnpushed();
    const fewer = { ...whole, hosts: new Map([...whole.hosts].slice(80)) };
    state.apply(fewer, everythingChanged(fewer));
    expect(pushedAs("99.flood.example")).not.toBe("false");
    const pushed: string[] = [];
    while (state.hasUnpushed) pushed.push(...state.takeUnpushed().map(({ name }) => name));
    expect(pushed).toContain("99.flood.example");
  });
});

describe("a flood of changes", () => {
  const flood = (version: number) =>
    Object.fromEntries(
      Array.from({ length: 100 }, (_, n) => {
        const peers = Array.from(
          { length: 40 },
          (_one, p) => `10.${n >> 8}.${n & 255}.${p}:${version}`,
        );
        return [`flood/s${n}:80`, peers] as const;
      }),
    );
  const world = (version: number, quietPeer: string) =>
    decisionOf({
      hosts: { "quiet.example": "quiet/web:80" },
      services: { ...flood(version), "quiet/web:80": [quietPeer] },
    });
  const isQuiet = ({ name }: ProxyEntry) => name === "quiet/web:80";

  it("of one namespace lets a change of another go with the next push", () => {
    const state = new ProxyState();
    const first = world(1, "10.9.9.9:80");
    state.apply(first, everythingChanged(first, 1));
    while (state.hasUnpushed) state.takeUnpushed();
    for (let version = 2; version < 8; version += 1) {
      const next = world(version, `10.9.9.9:${version}`);
      state.apply(next, everythingChanged(next, version));
      const pushed = state.takeUnpushed();
      expect(pushed.filter(isQuiet)).toHaveLength(1);
      expect(state.hasUnpushed).toBe(true);
    }
  });

  it("says that a decision was taken once all of it was, and nothing waits for ever", () => {
    const state = new ProxyState();
    let version = 0;
    const taken: number[] = [];
    for (let turn = 0; turn < 20; turn += 1) {
      version += 1;
      const next = world(version, `10.9.9.9:${version}`);
      state.apply(next, everythingChanged(next, version));
      state.takeUnpushed();
      taken.push(state.taken);
    }
    expect(taken[0]).toBe(0);
    expect(taken.at(-1)).toBeGreaterThan(10);
    while (state.hasUnpushed) state.takeUnpushed();
    expect(state.taken).toBe(20);
  });
});
