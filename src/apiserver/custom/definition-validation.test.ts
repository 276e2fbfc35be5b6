import { describe, expect, it } from "vitest";
import { inApiWorld } from "../../../tests/apiserver/api-world.ts";
import {
  type DefinitionChange,
  definitions,
  install,
  shopDefinition,
} from "../../../tests/apiserver/custom-world.ts";
import { objectAt, objectsAt, textAt } from "../kinds/fields.ts";

type Json = Record<string, unknown>;

async function refusals(definition: Json): Promise<readonly string[]> {
  let causes: readonly string[] = [];
  await inApiWorld(async ({ call }) => {
    const { json } = await call("POST", `${definitions}?dryRun=All`, definition);
    causes = objectsAt(json, "details", "causes").map(
      (cause) => `${textAt(cause, "field")}: ${textAt(cause, "message")}`,
    );
  });
  return causes;
}

function field(schema: Json): DefinitionChange {
  return { schema: { type: "object", properties: { field: schema } } };
}

const at = "spec.validation.openAPIV3Schema.properties[spec].properties[field]";

describe("a definition is refused", () => {
  it.each<[string, DefinitionChange, readonly string[]]>([
    [
      "when it has no storage version",
      { version: { storage: false, schema: undefined, subresources: undefined } },
      [
        "spec.versions[0].schema.openAPIV3Schema: Required value",
        'spec.versions: Invalid value: [{"Name":"v1","Served":true,"Storage":false,' +
          '"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,' +
          '"AdditionalPrinterColumns":null,"SelectableFields":null}]: ' +
          "must have exactly one version marked as storage version",
        "status.storedVersions: Invalid value: null: must have at least one stored version",
      ],
    ],
    [
      "when its group is no domain",
      { spec: { group: "example" } },
      [
        'metadata.name: Invalid value: "shops.example.com": must be spec.names.plural+"."+spec.group',
        'spec.group: Invalid value: "example": should be a domain with at least one dot',
      ],
    ],
    [
      "when a field has no type",
      field({}),
      [`${at}.type: Required value: must not be empty for specified object fields`],
    ],
    [
      "when a pattern is invalid",
      field({ type: "string", pattern: "[a" }),
      [
        `${at}.pattern: Invalid value: "[a": must be a valid regular expression, but isn't: ` +
          "error parsing regexp: missing closing ]: `[a`",
      ],
    ],
    [
      "when a default does not fit",
      field({ type: "integer", minimum: 5, default: 1 }),
      [`${at}.default: Invalid value: 1:  in body should be greater than or equal to 5`],
    ],
    [
      "when a choice has a type",
      field({ type: "string", anyOf: [{ type: "string", description: "x" }] }),
      [
        `${at}.anyOf[0].description: Forbidden: must be empty to be structural`,
        `${at}.anyOf[0].type: Forbidden: must be empty to be structural`,
      ],
    ],
    [
      "when the keys of a list may be absent",
      field({
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        items: { type: "object", properties: { name: { type: "string" } } },
      }),
      [
        `${at}.items.properties[name].default: Required value: this property is in ` +
          "x-kubernetes-list-map-keys, so it must have a default or be a required property",
      ],
    ],
    [
      "when a rule compares items that cannot be matched",
      field({
        type: "array",
        maxItems: 5,
        items: {
          type: "string",
          maxLength: 9,
          "x-kubernetes-validations": [{ rule: "self == oldSelf" }],
        },
      }),
      [
        `${at}.items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf ` +
          `cannot be used on the uncorrelatable portion of the schema within ${at}`,
      ],
    ],
    [
      "when a rule does not compile",
      field({ type: "string", "x-kubernetes-validations": [{ rule: "self.x" }] }),
      [
        `${at}.x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self.x","Message":"",` +
          '"MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: ' +
          "compilation failed: ERROR: <input>:1:6: Cannot index type 'string'",
      ],
    ],
  ])("%s", async (_, change, expected) => {
    expect(await refusals(shopDefinition(change))).toEqual(expected);
  });

  it("when it changes a part of the storage path", () =>
    inApiWorld(async (world) => {
      await install(world, shopDefinition());
      const stored = await world.call("GET", `${definitions}/shops.example.com`);
      const spec = { ...objectAt(stored.json, "spec"), scope: "Cluster" };
      const { json } = await world.call("PUT", `${definitions}/shops.example.com`, {
        ...shopDefinition({ spec }),
        metadata: objectAt(stored.json, "metadata"),
      });
      expect(textAt(json, "message")).toBe(
        'CustomResourceDefinition.apiextensions.k8s.io "shops.example.com" is invalid: ' +
          'spec.scope: Invalid value: "Cluster": field is immutable',
      );
    }));

  it("when a version with stored objects is removed", () =>
    inApiWorld(async (world) => {
      await install(world, shopDefinition());
      const stored = await world.call("GET", `${definitions}/shops.example.com`);
      const { json } = await world.call("PUT", `${definitions}/shops.example.com`, {
        ...shopDefinition({ version: { name: "v2" } }),
        metadata: objectAt(stored.json, "metadata"),
      });
      expect(textAt(json, "message")).toContain(
        'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; ' +
          "v1 was previously a storage version",
      );
    }));
});
