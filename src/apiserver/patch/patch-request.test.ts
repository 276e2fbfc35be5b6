// Patches over HTTP: refusals with their messages, and strict validation.
import { describe, expect, test } from "vitest";
import { failure, inApiWorld } from "../../../tests/apiserver/api-world.ts";
import { textAt } from "../kinds/fields.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const types = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
};

interface Refusal {
  readonly type: keyof typeof types;
  readonly patch: string;
  readonly answer: object;
}

const refusals: readonly Refusal[] = [
  {
    type: "json",
    patch: JSON.stringify(Array(10_001).fill({ op: "test", path: "/data", value: {} })),
    answer: failure(
      413,
      "RequestEntityTooLarge",
      "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001",
    ),
  },
  bad(
    "json",
    "{}",
    "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
  ),
  bad(
    "json",
    "[1]",
    "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp",
  ),
  bad(
    "merge",
    "[]",
    "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
  ),
  bad("merge", "{", "error decoding patch: unexpected end of JSON input"),
  bad(
    "strategic",
    "[]",
    "json: cannot unmarshal array into Go value of type map[string]interface {}",
  ),
  bad(
    "strategic",
    '{"$retainKeys":["data"],"data":{},"metadata":{}}',
    "invalid patch format of retainKeys",
  ),
  bad(
    "strategic",
    '{"metadata":{"$setElementOrder":[]}}',
    "invalid patch format of setElementOrder list",
  ),
  bad(
    "strategic",
    '{"$patch":"delete"}',
    "the name of the object (a based on URL) was undeterminable: name must be provided",
  ),
  bad(
    "merge",
    '{"metadata":{"name":"b"}}',
    "the name of the object (b) does not match the name on the URL (a)",
  ),
  own('{"$patch":"boom"}', "unknown patch type: boom in map: map[$patch:boom]"),
  own('{"$patch":1}', "unknown patch type: %!s(int64=1) in map: map[$patch:1]"),
  own('{"metadata":{"finalizers":[1]}}', "list element types are not identical: [[x/y] [1]]"),
  own(
    '{"metadata":{"$setElementOrder/nope":[]}}',
    'unable to find api field in struct ObjectMeta for the json field "nope"',
  ),
  own(
    '{"metadata":{"$setElementOrder/labels":[]}}',
    "expected slice or array type, but got: struct",
  ),
  own(
    '{"metadata":{"$setElementOrder/finalizers":"x"}}',
    "expected a []interface {}, but received a string",
  ),
];

function bad(type: keyof typeof types, patch: string, message: string): Refusal {
  return { type, patch, answer: failure(400, "BadRequest", message) };
}

/** Mistakes that the server answers as its own, for which there is no reason in its list. */
function own(patch: string, message: string): Refusal {
  const status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure" };
  return { type: "strategic", patch, answer: { ...status, message, code: 500 } };
}

describe("a patch", () => {
  test("is refused with the message of the real server, and nothing changes", () =>
    inApiWorld(async ({ call }) => {
      const metadata = { name: "a", finalizers: ["x/y"] };
      const { json: before } = await call("POST", maps, { metadata, data: { a: "1" } });
      const answers: { patch: string; answer: unknown }[] = [];
      for (const { type, patch } of refusals) {
        const contentType = types[type];
        const { json } = await call("PATCH", `${maps}/a`, patch, { contentType });
        answers.push({ patch, answer: json });
      }
      expect(answers).toEqual(refusals.map(({ patch, answer }) => ({ patch, answer })));
      expect((await call("GET", `${maps}/a`)).json).toEqual(before);
    }));

  test("that cannot be applied is refused without details", () =>
    inApiWorld(async ({ call }) => {
      await call("POST", maps, { metadata: { name: "a" } });
      const patch = '[{"op":"test","path":"/data/a","value":"2"}]';
      const { json } = await call("PATCH", `${maps}/a`, patch, { contentType: types.json });
      const message = "the server rejected our request due to an error in our request";
      expect(json).toEqual(failure(422, "Invalid", message, {}));
    }));

  test("that sets a value of the wrong type is refused with the patch or the result", () =>
    inApiWorld(async ({ call }) => {
      await call("POST", maps, { metadata: { name: "a" } });
      const refused = async (type: keyof typeof types) =>
        (await call("PATCH", `${maps}/a`, '{"data":{"a":1}}', { contentType: types[type] })).json;
      const problem = 'Invalid value: "map[data:map[a:1]]": cannot convert int64 to string';
      expect(await refused("strategic")).toEqual(
        failure(422, "Invalid", ` "" is invalid: patch: ${problem}`, {
          causes: [{ reason: "FieldValueInvalid", message: problem, field: "patch" }],
        }),
      );
      expect(textAt(await refused("merge"), "message")).toMatch(
        /^ "" is invalid: patch: Invalid value: "\{.*\}": json: cannot unmarshal number into Go struct field ConfigMap.data of type string$/,
      );
    }));

  test("with unknown or repeated fields is refused by strict validation, and gives warnings otherwise", () =>
    inApiWorld(async ({ call }) => {
      await call("POST", maps, { metadata: { name: "a" } });
      const contentType = types.strategic;
      const patch = '{"foo":1,"data":{"x":"y","x":"z"}}';
      const path = `${maps}/a?fieldValidation=Strict`;
      const strict = await call("PATCH", path, patch, { contentType });
      expect(textAt(strict.json, "message")).toBe(
        ' "" is invalid: patch: Invalid value: "map[data:map[x:z] foo:1]": strict decoding error: ' +
          'duplicate field "data.x", unknown field "foo"',
      );
      const warned = await call("PATCH", `${maps}/a`, patch, { contentType });
      expect(warned.headers["warning"]).toBe(
        '299 - "duplicate field \\"data.x\\"", 299 - "unknown field \\"foo\\""',
      );
      const operations = '[{"op":"add","path":"/data/a","value":"1","extra":1}]';
      const json = await call("PATCH", `${maps}/a`, operations, { contentType: types.json });
      expect(json.headers["warning"]).toBe('299 - "json patch unknown field \\"[0].extra\\""');
    }));

  test("with an unknown media type is refused", () =>
    inApiWorld(async ({ call }) => {
      await call("POST", maps, { metadata: { name: "a" } });
      const { json } = await call("PATCH", `${maps}/a`, "{}", { contentType: "application/foo" });
      expect(json).toEqual(failure(415, "UnsupportedMediaType", "415: Unsupported Media Type", {}));
    }));
});
