// One namespace can neither fill the memory of the proxy nor delay the changes of another one.
import { describe, expect, it } from "vitest";
import { decisionOf, everythingChanged } from "../../../tests/nginx/short-decision.ts";
import type { PathRule, RoutingDecision } from "../../decide/decision.ts";
import { storedBytes } from "./proxy-memory.ts";
import { type ProxyEntry, ProxyState } from "./proxy-state.ts";

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
