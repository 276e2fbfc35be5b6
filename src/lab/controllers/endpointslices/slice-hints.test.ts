import { expect, test } from "vitest";
import { wholeOf } from "../../../../tests/controllers/controller-objects.ts";
import { wholeSlices } from "../whole-object.ts";
import { newSlice, type PublishedSlice, readSlice } from "./published-slice.ts";
import type { Endpoint, EndpointHints } from "./slice-groups.ts";
import { type Hinting, nearHints, withoutHints } from "./slice-hints.ts";

const zone = { forZones: [{ name: "z" }] };
const both = { ...zone, forNodes: [{ name: "n1" }] };

function endpoint(ready: boolean, hints?: EndpointHints): Endpoint {
  return {
    addresses: ["10.0.0.1"],
    conditions: { ready },
    nodeName: "n1",
    targetRef: { kind: "Pod", namespace: "default", name: "a", uid: "u" },
    zone: "z",
    ...(hints === undefined ? {} : { hints }),
  };
}

function published(one: Endpoint): PublishedSlice {
  return readSlice(wholeOf(wholeSlices, "web-1", { addressType: "IPv4", endpoints: [one] }));
}

const near = nearHints({ nodes: false });
const sameNode = nearHints({ nodes: true });

test.each<[string, Hinting, Endpoint, EndpointHints | undefined]>([
  ["ready endpoints get their zone", near, endpoint(true), zone],
  ["and their node, if that is wanted", sameNode, endpoint(true), both],
  ["others get none", near, endpoint(false), undefined],
  ["a service that asks for nothing has none", withoutHints, endpoint(true, zone), undefined],
])("%s", (_, hinting, given, expected) => {
  const create = [newSlice("IPv4", [], [given])];
  const hinted = hinting({ create, update: [], unchanged: [] });
  expect(hinted.create[0]?.endpoints[0]?.hints).toEqual(expected);
});

test.each<[string, Hinting, Endpoint, boolean]>([
  ["right hints", near, endpoint(true, zone), false],
  ["no hints", near, endpoint(true), true],
  ["a node too many", near, endpoint(true, both), true],
  ["hints where nothing is ready", near, endpoint(false, zone), false],
  ["hints that nobody wants", withoutHints, endpoint(true, zone), true],
  ["no hints where none are wanted", withoutHints, endpoint(true), false],
])("whether a slice with %s is written", (_, hinting, given, isWritten) => {
  const { update } = hinting({ create: [], update: [], unchanged: [published(given)] });
  expect(update.map(({ object }) => object?.metadata.name)).toEqual(isWritten ? ["web-1"] : []);
});
