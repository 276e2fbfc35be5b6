import { describe, expect, it } from "vitest";
import { failure, inApiWorld } from "../../../tests/apiserver/api-world.ts";
import {
  definitions,
  install,
  shop,
  shopDefinition,
  shops,
} from "../../../tests/apiserver/custom-world.ts";
import { objectAt, objectsAt, textAt, valueAt } from "../kinds/fields.ts";

const one = `${definitions}/shops.example.com`;
const merge = { contentType: "application/merge-patch+json" };

function conditions(definition: unknown): readonly string[] {
  return objectsAt(definition, "status", "conditions").map(
    (condition) => `${condition["type"]}=${condition["status"]} ${condition["reason"]}`,
  );
}

describe("a definition", () => {
  it("is stored first and served a moment later", () =>
    inApiWorld(async ({ call, client }) => {
      const created = await call("POST", definitions, shopDefinition());
      expect(objectAt(created.json, "status")).toEqual({
        acceptedNames: { kind: "", plural: "" },
        conditions: null,
        storedVersions: ["v1"],
      });
      await client.timers.sleep(100);
      const stored = await call("GET", one);
      expect(conditions(stored.json)).toEqual([
        "NamesAccepted=True NoConflicts",
        "Established=True InitialNamesAccepted",
      ]);
      expect(objectAt(stored.json, "status", "acceptedNames")).toEqual({
        kind: "Shop",
        listKind: "ShopList",
        plural: "shops",
        singular: "shop",
      });
      expect((await call("GET", shops)).json).toMatchObject({ kind: "ShopList", items: [] });
    }));

  it("is found by discovery with all its names", () =>
    inApiWorld(async (world) => {
      await install(world, shopDefinition({ names: { shortNames: ["sh"], categories: ["all"] } }));
      const { json } = await world.call("GET", "/apis/example.com/v1");
      expect(objectsAt(json, "resources")).toMatchObject([
        {
          name: "shops",
          singularName: "shop",
          namespaced: true,
          kind: "Shop",
          shortNames: ["sh"],
          categories: ["all"],
        },
        { name: "shops/status", kind: "Shop", verbs: ["get", "patch", "update"] },
      ]);
      const groups = await world.call("GET", "/apis");
      expect(objectsAt(groups.json, "groups").at(-1)).toMatchObject({ name: "example.com" });
    }));

  it("does not get a name that another definition of its group has", () =>
    inApiWorld(async (world) => {
      await install(world, shopDefinition({ names: { shortNames: ["sh"] } }));
      const second = { plural: "stores", kind: "Shop", shortNames: ["sh"] };
      await world.call("POST", definitions, shopDefinition({ names: second }));
      await world.client.timers.sleep(100);
      const { json } = await world.call("GET", `${definitions}/stores.example.com`);
      expect(objectsAt(json, "status", "conditions")).toMatchObject([
        {
          type: "NamesAccepted",
          status: "False",
          reason: "ListKindConflict",
          message: '"ShopList" is already in use',
        },
        { type: "Established", status: "False", reason: "NotAccepted" },
      ]);
      await world.call("DELETE", one);
      await world.client.timers.sleep(10_000);
      const freed = await world.call("GET", `${definitions}/stores.example.com`);
      expect(conditions(freed.json)).toEqual([
        "NamesAccepted=True NoConflicts",
        "Established=True InitialNamesAccepted",
      ]);
    }));

  it("waits before it is established where there are several servers", () =>
    inApiWorld(
      async ({ call, client }) => {
        await call("POST", definitions, shopDefinition());
        await client.timers.sleep(4000);
        expect(conditions((await call("GET", one)).json)[1]).toBe("Established=False Installing");
        await client.timers.sleep(2000);
        expect(conditions((await call("GET", one)).json)[1]).toBe(
          "Established=True InitialNamesAccepted",
        );
      },
      { establishingDelayMs: 5000 },
    ));

  it("is deleted after its objects", () =>
    inApiWorld(async (world) => {
      const { call, client } = world;
      await install(world, shopDefinition());
      await call("POST", shops, shop("a"));
      const held = shop("b");
      await call("POST", shops, { ...held, metadata: { name: "b", finalizers: ["x.y/hold"] } });
      const deleted = await call("DELETE", one);
      expect(deleted.json).toMatchObject({
        metadata: { generation: 1, finalizers: ["customresourcecleanup.apiextensions.k8s.io"] },
      });
      await client.timers.sleep(1000);
      expect(conditions((await call("GET", one)).json).at(-1)).toBe(
        "Terminating=True InstanceDeletionInProgress",
      );
      expect((await call("POST", shops, shop("c"))).json).toEqual(
        failure(
          403,
          "Forbidden",
          'shops.example.com "c" is forbidden: create not allowed while custom resource definition is terminating',
          { name: "c", group: "example.com", kind: "shops" },
        ),
      );
      const { json } = await call("GET", shops);
      expect(objectsAt(json, "items").map((item) => textAt(item, "metadata", "name"))).toEqual([
        "b",
      ]);
      await call("PATCH", `${shops}/b`, { metadata: { finalizers: null } }, merge);
      await client.timers.sleep(10_000);
      expect((await call("GET", one)).status).toBe(404);
      expect((await call("GET", shops)).status).toBe(404);
    }));

  it("is deleted at once when it was never established", () =>
    inApiWorld(
      async ({ call, client }) => {
        await call("POST", definitions, shopDefinition());
        await call("DELETE", one);
        await client.timers.sleep(100);
        expect((await call("GET", one)).status).toBe(404);
      },
      { establishingDelayMs: 5000 },
    ));

  it("gets a warning for unknown formats", () =>
    inApiWorld(async ({ call }) => {
      const schema = { type: "object", properties: { a: { type: "string", format: "postcode" } } };
      const { status, headers } = await call("POST", definitions, shopDefinition({ schema }));
      expect([status, headers["warning"]]).toEqual([
        201,
        '299 - "unrecognized format \\"postcode\\""',
      ]);
    }));
});

describe("objects of a custom kind", () => {
  it("wait two seconds while their definition is new", () =>
    inApiWorld(async ({ call, client }) => {
      await call("POST", definitions, shopDefinition());
      await client.timers.sleep(100);
      const before = client.clock.monotonicMs();
      expect((await call("POST", shops, shop("a"))).status).toBe(201);
      expect(client.clock.monotonicMs() - before).toBeGreaterThanOrEqual(2000);
    }));

  it("count their generations by everything but metadata and status", () =>
    inApiWorld(async (world) => {
      const { call } = world;
      await install(world, shopDefinition());
      const created = await call("POST", shops, { ...shop("a"), status: { dropped: true } });
      expect(created.json).toMatchObject({ metadata: { generation: 1 }, spec: { size: 1 } });
      expect(valueAt(created.json, "status")).toBeUndefined();
      const generations: unknown[] = [];
      for (const [path, patch] of [
        [`${shops}/a`, { metadata: { labels: { a: "b" } } }],
        [`${shops}/a/status`, { status: {}, metadata: { labels: { a: "c" } } }],
        [`${shops}/a`, { spec: { size: 2 } }],
      ] as const) {
        const { json } = await call("PATCH", path, patch, merge);
        generations.push([
          valueAt(json, "metadata", "generation"),
          valueAt(json, "metadata", "labels"),
        ]);
      }
      expect(generations).toEqual([
        [1, { a: "b" }],
        [1, { a: "b" }],
        [2, { a: "b" }],
      ]);
    }));

  it("lose unknown fields with a warning, or are refused", () =>
    inApiWorld(async (world) => {
      await install(world, shopDefinition());
      const object = { ...shop("a", { size: 2, colour: "red" }), extra: 1 };
      const warned = await world.call("POST", shops, object);
      expect(objectAt(warned.json, "spec")).toEqual({ size: 2 });
      expect(warned.headers["warning"]).toBe(
        '299 - "unknown field \\"extra\\"", 299 - "unknown field \\"spec.colour\\""',
      );
      const strict = await world.call("POST", `${shops}?fieldValidation=Strict`, object);
      expect(textAt(strict.json, "message")).toBe(
        'Shop in version "v1" cannot be handled as a Shop: strict decoding error: ' +
          'unknown field "extra", unknown field "spec.colour"',
      );
    }));

  it("are validated by the schema", () =>
    inApiWorld(async (world) => {
      await install(world, shopDefinition());
      const { json } = await world.call("POST", shops, shop("a", { size: 0 }));
      const message = "Invalid value: 0: spec.size in body should be greater than or equal to 1";
      expect(json).toEqual(
        failure(422, "Invalid", `Shop.example.com "a" is invalid: spec.size: ${message}`, {
          name: "a",
          group: "example.com",
          kind: "Shop",
          causes: [{ reason: "FieldValueInvalid", message, field: "spec.size" }],
        }),
      );
    }));

  it("need a version to be overwritten", () =>
    inApiWorld(async (world) => {
      await install(world, shopDefinition());
      await world.call("POST", shops, shop("a"));
      const { json } = await world.call("PUT", `${shops}/a`, shop("a", { size: 3 }));
      expect(textAt(json, "message")).toContain("metadata.resourceVersion: Invalid value");
    }));

  it("are selected by the fields their definition names", () =>
    inApiWorld(async (world) => {
      const selectableFields = [{ jsonPath: ".spec.owner" }];
      await install(world, shopDefinition({ version: { selectableFields } }));
      for (const [name, owner] of [
        ["a", "x"],
        ["b", "y"],
      ] as const) {
        await world.call("POST", shops, shop(name, { owner }));
      }
      const { json } = await world.call("GET", `${shops}?fieldSelector=spec.owner%3Dy`);
      expect(objectsAt(json, "items").map((item) => textAt(item, "metadata", "name"))).toEqual([
        "b",
      ]);
    }));

  it("are scaled where their definition says", () =>
    inApiWorld(async (world) => {
      const { call } = world;
      const scale = { specReplicasPath: ".spec.size", statusReplicasPath: ".status.ready" };
      const subresources = {
        status: {},
        scale: { ...scale, labelSelectorPath: ".status.selector" },
      };
      await install(world, shopDefinition({ version: { subresources } }));
      await call("POST", shops, shop("a", { size: 2 }));
      const scaled = await call("PATCH", `${shops}/a/scale`, { spec: { replicas: 5 } }, merge);
      expect(scaled.json).toMatchObject({ kind: "Scale", spec: { replicas: 5 } });
      expect((await call("GET", `${shops}/a`)).json).toMatchObject({ spec: { size: 5 } });
    }));
});

const v2 = {
  name: "v2",
  served: true,
  storage: false,
  schema: {
    openAPIV3Schema: {
      type: "object",
      properties: {
        spec: {
          type: "object",
          properties: { size: { type: "integer" }, colour: { type: "string", default: "red" } },
        },
      },
    },
  },
};

function twoVersions(change: object = {}): Record<string, unknown> {
  const base = shopDefinition();
  const versions = [...objectsAt(base, "spec", "versions"), v2];
  return { ...base, spec: { ...objectAt(base, "spec"), versions, ...change } };
}

describe("several versions", () => {
  it("show the same objects, each through its own schema", () =>
    inApiWorld(async (world) => {
      await install(world, twoVersions());
      await world.call("POST", shops, shop("a", { size: 2, owner: "me" }));
      const path = shops.replace("/v1/", "/v2/");
      const { json } = await world.call("GET", `${path}/a`);
      expect(json).toMatchObject({ apiVersion: "example.com/v2", kind: "Shop" });
      expect(objectAt(json, "spec")).toEqual({ colour: "red", size: 2 });
      await world.call("PATCH", `${path}/a`, { spec: { size: 7 } }, merge);
      const back = await world.call("GET", `${shops}/a`);
      expect(back.json).toMatchObject({ apiVersion: "example.com/v1" });
      expect(objectAt(back.json, "spec")).toEqual({ size: 7 });
    }));

  it("are preferred in the order of their names", () =>
    inApiWorld(async (world) => {
      await install(world, twoVersions());
      const { json } = await world.call("GET", "/apis/example.com");
      expect(json).toMatchObject({
        preferredVersion: { version: "v2" },
        versions: [{ version: "v2" }, { version: "v1" }],
      });
    }));

  it("cannot be converted by a webhook here", () =>
    inApiWorld(async (world) => {
      const clientConfig = { url: "https://example.com/convert" };
      const webhook = { clientConfig, conversionReviewVersions: ["v1"] };
      await install(world, twoVersions({ conversion: { strategy: "Webhook", webhook } }));
      expect((await world.call("POST", shops, shop("a"))).status).toBe(201);
      const { status, json } = await world.call("GET", shops.replace("/v1/", "/v2/"));
      expect([status, textAt(json, "message")]).toEqual([
        500,
        "Internal error occurred: conversion webhook for example.com/v2, Kind=Shop failed: " +
          "this server calls no conversion webhooks",
      ]);
    }));

  it("are warned about when they are deprecated", () =>
    inApiWorld(async (world) => {
      const base = twoVersions();
      const [first, second] = objectsAt(base, "spec", "versions");
      const versions = [{ ...first, deprecated: true }, second];
      await install(world, { ...base, spec: { ...objectAt(base, "spec"), versions } });
      const { headers } = await world.call("GET", shops);
      expect(headers["warning"]).toBe(
        '299 - "example.com/v1 Shop is deprecated; use example.com/v2 Shop"',
      );
    }));
});

describe("servers on one storage", () => {
  it("serve definitions of other servers, also older ones", () =>
    inApiWorld(async (world) => {
      const { call, client, addServer } = world;
      await addServer("second");
      await install(world, shopDefinition());
      const other = { host: "second" };
      expect((await call("POST", shops, shop("a"), other)).status).toBe(201);
      expect((await call("GET", `${shops}/a`)).json).toMatchObject({ spec: { size: 1 } });
      await addServer("late");
      expect((await call("GET", `${shops}/a`, undefined, { host: "late" })).status).toBe(200);
      await call("DELETE", one, undefined, other);
      await client.timers.sleep(10_000);
      for (const host of ["server", "second", "late"]) {
        expect((await call("GET", shops, undefined, { host })).status).toBe(404);
      }
    }));

  it("show old objects through a new schema, and end the watches on the old one", () =>
    inApiWorld(async (world) => {
      const { call, client, open } = world;
      await install(world, shopDefinition());
      await call("POST", shops, shop("a", { size: 4, owner: "me" }));
      const watch = await open(`${shops}?watch=true&resourceVersion=0`);
      const lines: string[] = [];
      const ended = (async () => {
        for await (const chunk of watch.body) lines.push(Buffer.from(chunk).toString("utf8"));
      })();
      await client.timers.sleep(100);
      const { json } = await call("GET", one);
      const schema = { type: "object", properties: { note: { type: "string", default: "new" } } };
      const next = shopDefinition({ schema });
      const changed = { ...next, metadata: objectAt(json, "metadata") };
      expect((await call("PUT", one, changed)).status).toBe(200);
      await ended;
      expect(lines.join("")).toContain('"owner":"me"');
      expect(objectAt((await call("GET", `${shops}/a`)).json, "spec")).toEqual({ note: "new" });
    }));
});
