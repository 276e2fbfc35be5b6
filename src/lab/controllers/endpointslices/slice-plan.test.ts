import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { serviceOf, wholeOf } from "../../../../tests/controllers/controller-objects.ts";
import { wholeSlices } from "../whole-object.ts";
import { labelsFor, type PublishedSlice, readSlice } from "./published-slice.ts";
import type { Endpoint, SliceGroup } from "./slice-groups.ts";
import { withoutHints } from "./slice-hints.ts";
import { planSlices, type SlicePlan } from "./slice-plan.ts";
import type { SlicePort } from "./slice-ports.ts";

const service = serviceOf();
const maxEndpoints = 3;
const owner = { apiVersion: "v1", kind: "Service", name: "web", uid: "uid-web", controller: true };

/** Pods by their names; `!` in front of one that is not ready. */
function endpointsOf(names: string): readonly Endpoint[] {
  return names
    .split(" ")
    .filter((name) => name !== "")
    .map((text) => {
      const name = text.replace("!", "");
      const ready = text === name;
      return {
        addresses: [`10.0.0.${name}`],
        conditions: { ready, serving: ready, terminating: false },
        nodeName: "n1",
        targetRef: { kind: "Pod", namespace: "default", name, uid: `uid-${name}` },
      };
    });
}

function portsOf(port: number | undefined): readonly SlicePort[] {
  return port === undefined ? [] : [{ name: "", port, protocol: "TCP" }];
}

interface SliceFields {
  readonly port?: number | undefined;
  readonly labels?: object;
  readonly owners?: readonly object[];
}

function slice(name: string, pods: string, fields: SliceFields = {}): PublishedSlice {
  const port = "port" in fields ? fields.port : 80;
  const endpoints = endpointsOf(pods);
  const content = { addressType: "IPv4", ports: portsOf(port), endpoints };
  const labels = fields.labels ?? labelsFor(service);
  const metadata = { labels, ownerReferences: fields.owners ?? [owner] };
  return readSlice(wholeOf(wholeSlices, name, content, metadata));
}

function group(pods: string, port = 80): SliceGroup {
  return { ports: portsOf(port), endpoints: endpointsOf(pods) };
}

function plan(existing: readonly PublishedSlice[], groups: readonly SliceGroup[]): SlicePlan {
  const rules = { maxEndpoints, hash: "fnv-128a", hinting: withoutHints } as const;
  return planSlices({ service, addressType: "IPv4", existing, groups, ...rules });
}

/** The plan in words: `+ 80: a b` creates, `one 80: a` writes, `- one` deletes. */
function inWords({ create, update, remove }: SlicePlan): readonly string[] {
  const content = ({ ports, endpoints }: Pick<PublishedSlice, "ports" | "endpoints">) => {
    const pods = endpoints.map((one) => `${one.conditions.ready ? "" : "!"}${one.targetRef.name}`);
    return `${ports.map(({ port }) => port).join()}: ${pods.join(" ")}`.trim();
  };
  return [
    ...create.map((wanted) => `+ ${content(wanted)}`),
    ...update.map((wanted) => `${wanted.object?.metadata.name} ${content(wanted)}`),
    ...remove.map(({ object }) => `- ${object.metadata.name}`),
  ];
}

describe("the fewest writes", () => {
  const full = slice("full", "1 2 3");
  const roomy = slice("roomy", "4");
  const placeholder = slice("empty", "", { port: undefined });
  const inherited = slice("empty", "", { port: undefined, owners: [{ ...owner, uid: "another" }] });
  const emptied = slice("emptied", "");
  const foreign = slice("foreign", "1", { owners: [{ ...owner, uid: "another" }] });

  test.each<[string, readonly PublishedSlice[], readonly SliceGroup[], readonly string[]]>([
    ["a service without pods gets an empty slice", [], [], ["+ :"]],
    ["and keeps it", [placeholder], [], []],
    ["even that of an earlier service of that name", [inherited], [], []],
    ["a slice that somebody emptied is filled", [emptied], [group("1 2")], ["emptied 80: 1 2"]],
    ["the first pods take the empty slice over", [placeholder], [group("1 2")], ["empty 80: 1 2"]],
    ["what is right stays", [full, roomy], [group("1 2 3 4")], []],
    ["a changed pod is changed in place", [full, roomy], [group("1 !2 3 4")], ["full 80: 1 !2 3"]],
    ["a pod that is gone leaves a gap", [full, roomy], [group("1 3 4")], ["full 80: 1 3"]],
    [
      "a new pod takes the place of one that left",
      [full, roomy],
      [group("1 3 4 5")],
      ["full 80: 1 3 5"],
    ],
    ["a new pod goes where there is room", [full, roomy], [group("1 2 3 4 5")], ["roomy 80: 4 5"]],
    ["and into a new slice where there is none", [full], [group("1 2 3 4")], ["+ 80: 4"]],
    ["many new pods fill new slices", [full], [group("1 2 3 4 5 6 7")], ["+ 80: 4 5 6", "+ 80: 7"]],
    ["a slice whose pods are gone goes", [full, roomy], [group("1 2 3")], ["- roomy"]],
    [
      "a slice whose pods are gone takes the next ones",
      [full, roomy],
      [group("1 2 3 5")],
      ["roomy 80: 5"],
    ],
    ["the last pod leaves an empty slice", [roomy], [], ["roomy :"]],
    ["other ports take the slice over", [roomy], [group("4", 81)], ["roomy 81: 4"]],
    [
      "pods with other ports get slices of their own",
      [full],
      [group("1 2 3"), group("4", 81)],
      ["+ 81: 4"],
    ],
    [
      "slices of an earlier service of that name go and are not taken over",
      [foreign],
      [group("1")],
      ["+ 80: 1", "- foreign"],
    ],
    [
      "labels of the service are followed",
      [slice("one", "1", { labels: { ...labelsFor(service), old: "x" } })],
      [group("1")],
      ["one 80: 1"],
    ],
    [
      "labels that only this controller sets are not compared",
      [slice("one", "1", { labels: {} })],
      [group("1")],
      [],
    ],
  ])("%s", (_, existing, groups, expected) => {
    expect(inWords(plan(existing, groups))).toEqual(expected);
  });
});

test("a plan carried out holds exactly what was wanted, and leaves nothing to do", () => {
  const names = fc.uniqueArray(fc.integer({ min: 1, max: 9 }), { maxLength: 9 });
  const groups = fc
    .tuple(names, names)
    .map(([one, two]) => [
      ...(one.length === 0 ? [] : [group(one.join(" "))]),
      ...(two.length === 0 ? [] : [group(two.join(" "), 81)]),
    ]);
  fc.assert(
    fc.property(fc.array(groups, { minLength: 1, maxLength: 6 }), (steps) => {
      let existing: readonly PublishedSlice[] = [];
      for (const wanted of steps) {
        existing = carryOut(existing, plan(existing, wanted));
        expect(contents(existing)).toEqual(contents(wanted));
        expect(existing.every(({ endpoints }) => endpoints.length <= maxEndpoints)).toBe(true);
        expect(inWords(plan(existing, wanted))).toEqual([]);
      }
    }),
  );
});

let made = 0;

function carryOut(
  existing: readonly PublishedSlice[],
  { create, update, remove }: SlicePlan,
): readonly PublishedSlice[] {
  const changed = new Set([...update, ...remove].map(({ object }) => object?.metadata.name));
  const written = [...create, ...update].map(({ object, ports, endpoints }) => {
    made += 1;
    const empty = slice(object?.metadata.name ?? `made-${made}`, "");
    return { ...empty, ports, endpoints };
  });
  return [...existing.filter(({ object }) => !changed.has(object.metadata.name)), ...written];
}

/** Port and pod of every endpoint. */
function contents(holders: readonly Pick<SliceGroup, "ports" | "endpoints">[]): readonly string[] {
  return holders
    .flatMap(({ ports, endpoints }) =>
      endpoints.map(({ targetRef }) => `${ports[0]?.port} ${targetRef.name}`),
    )
    .sort();
}
