// Names that every JavaScript object inherits are names like any others to those who send JSON.
import { describe, expect, it } from "vitest";
import { type ApiWorld, inApiWorld } from "../../../tests/apiserver/api-world.ts";
import { copyJson, ownField, setField, textMapAt } from "./fields.ts";

const odd = '{"__proto__":"p","constructor":"c","toString":"t"}';

describe("a field with an inherited name", () => {
  it("is set, copied and read as the object's own", () => {
    const object = {};
    setField(object, "__proto__", { inherited: true });
    expect(JSON.stringify(object)).toBe('{"__proto__":{"inherited":true}}');
    expect("inherited" in object).toBe(false);
    expect(JSON.stringify(copyJson({ a: JSON.parse(odd) }))).toBe(`{"a":${odd}}`);
    expect(JSON.stringify(textMapAt({ a: JSON.parse(odd) }, "a"))).toBe(odd);
    expect(ownField({}, "constructor")).toBeUndefined();
  });
});

const maps = "/api/v1/namespaces/default/configmaps";

async function patch({ call }: ApiWorld, type: string, body: string): Promise<string> {
  const query = type === "apply-patch+yaml" ? "?fieldManager=a&force=true" : "";
  const options = { contentType: `application/${type}` };
  const { json } = await call("PATCH", `${maps}/a${query}`, body, options);
  return JSON.stringify(Object(json).data);
}

describe("an object with such names", () => {
  it("keeps them through creation and every kind of patch", () =>
    inApiWorld(
      async (world) => {
        const { status } = await world.call(
          "POST",
          maps,
          `{"metadata":{"name":"a"},"data":${odd}}`,
        );
        expect(status).toBe(201);
        const merge = '{"data":{"__proto__":"q","valueOf":"v"}}';
        const merged = '{"__proto__":"q","constructor":"c","toString":"t","valueOf":"v"}';
        expect(await patch(world, "merge-patch+json", merge)).toBe(merged);
        const strategic = '{"data":{"__proto__":"r","valueOf":null}}';
        const kept = '{"__proto__":"r","constructor":"c","toString":"t"}';
        expect(await patch(world, "strategic-merge-patch+json", strategic)).toBe(kept);
        const applied = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":`;
        expect(await patch(world, "apply-patch+yaml", `${applied}${odd}}`)).toBe(odd);
        // A field that the next apply leaves out is removed only if no other manager owns it.
        const less = `${applied}{"toString":"u"}}`;
        expect(await patch(world, "apply-patch+yaml", less)).toBe(
          '{"constructor":"c","toString":"u"}',
        );
      },
      { trackFieldsFrom: "creation" },
    ));

  it("is not pretended to have them", () =>
    inApiWorld(async ({ call }) => {
      await call("POST", maps, { metadata: { name: "a" }, data: { constructor: "c" } });
      const { json } = await call("GET", `${maps}?labelSelector=constructor`);
      expect(Object(json).items).toEqual([]);
      const basic = { type: "constructor", metadata: { name: "s" } };
      const secret = await call("POST", "/api/v1/namespaces/default/secrets", basic);
      expect(secret.status).toBe(201);
    }));

  it("is found at no path that has such a name", () =>
    inApiWorld(async ({ call }) => {
      for (const path of ["/constructor", "/toString", "/__proto__", "/api/v1/constructor", "//"]) {
        expect([path, (await call("GET", path)).status]).toEqual([path, 404]);
      }
    }));
});
