import { describe, expect, it } from "vitest";
import type { ProxyEntry } from "./proxy-state.ts";
import { entryBytes, pushRank } from "./push-parts.ts";
import { pushBytesMax, UnpushedEntries } from "./unpushed-entries.ts";

/** Entries by name, and what of them is not pushed. */
class Unpushed {
  readonly entries = new UnpushedEntries();
  readonly #known = new Map<string, ProxyEntry>();
  #since = 0;

  set(kind: ProxyEntry["kind"], name: string, value: string | undefined): void {
    this.#since += 1;
    const entry = { kind, name, value, version: 0 };
    this.#known.set(`${kind} ${name}`, entry);
    const namespace = name.slice(0, name.indexOf("/"));
    this.entries.add({ kind, name }, namespace, this.#since, pushRank(entry));
  }

  take(): readonly ProxyEntry[] {
    const read = (ref: Pick<ProxyEntry, "kind" | "name">) =>
      this.#known.get(`${ref.kind} ${ref.name}`);
    return this.entries.take(read).map(([entry]) => entry);
  }
}

function namesOf(entries: readonly ProxyEntry[]): readonly string[] {
  return entries.map(({ kind, name }) => `${kind} ${name}`);
}

const large = "x".repeat(1_000);

describe("entries that are not pushed", () => {
  it("go in small pushes, with services first, whatever another namespace has to push", () => {
    const unpushed = new Unpushed();
    for (let at = 0; at < 1_000; at += 1) unpushed.set("host", `large/h${at}`, large);
    expect(unpushed.take().length).toBeGreaterThan(0);
    unpushed.set("service", "calm/web:80", "1");
    const next = unpushed.take();
    expect(namesOf(next)[0]).toBe("service calm/web:80");
    const bytes = next.reduce((sum, entry) => sum + entryBytes(entry), 0);
    expect(bytes).toBeLessThanOrEqual(2 * pushBytesMax + 2 * large.length);
  });

  it("are pushed in turns of their namespaces, however large one entry is", () => {
    const unpushed = new Unpushed();
    const huge = "x".repeat(10 * pushBytesMax);
    for (let at = 0; at < 10; at += 1) unpushed.set("host", `large/h${at}`, huge);
    unpushed.take();
    unpushed.set("host", "calm/h", "1");
    expect(namesOf(unpushed.take())).toContain("host calm/h");
  });

  it("go before larger ones of the same push, which take longer", () => {
    const unpushed = new Unpushed();
    unpushed.set("service", "large/web:80", "x".repeat(pushBytesMax / 4));
    unpushed.set("service", "calm/web:80", "1");
    expect(namesOf(unpushed.take())).toEqual(["service calm/web:80", "service large/web:80"]);
  });

  it("leave each namespace its share of a push", () => {
    const unpushed = new Unpushed();
    for (let at = 0; at < 1_000; at += 1) unpushed.set("host", `large/h${at}`, large);
    for (let at = 0; at < 20; at += 1) unpushed.set("host", `calm/h${at}`, large);
    const calm = namesOf(unpushed.take()).filter((name) => name.startsWith("host calm/"));
    expect(calm).toHaveLength(20);
  });

  it("go before what refers to them, in rounds, so that none waits for ever", () => {
    const unpushed = new Unpushed();
    for (let at = 0; at < 200; at += 1) unpushed.set("service", `own/s${at}`, large);
    unpushed.set("host", "own/h", "1");
    unpushed.set("policy", "own/old", undefined);
    const taken: string[] = [];
    while (!unpushed.entries.isEmpty && taken.length < 2_000) {
      // Services that change all the time keep neither the host nor the removal waiting.
      for (let at = 0; at < 199; at += 1) unpushed.set("service", `own/s${at}`, large);
      taken.push(...namesOf(unpushed.take()));
    }
    const firstOf = (name: string) => taken.indexOf(name);
    expect(firstOf("service own/s199")).toBeGreaterThanOrEqual(0);
    expect(firstOf("host own/h")).toBeGreaterThan(firstOf("service own/s199"));
    expect(firstOf("policy own/old")).toBeGreaterThan(firstOf("host own/h"));
  });

  it("go by what they are when they are taken", () => {
    const unpushed = new Unpushed();
    unpushed.set("service", "own/s", undefined);
    unpushed.set("host", "own/h", undefined);
    unpushed.set("service", "own/s", "1");
    const taken = [...unpushed.take(), ...unpushed.take()];
    expect(taken.map(({ kind, value }) => [kind, value])).toEqual([
      ["host", undefined],
      ["service", "1"],
    ]);
    expect(unpushed.entries.isEmpty).toBe(true);
  });
});
