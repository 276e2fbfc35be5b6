// Requests with the deepest nesting. Without a limit each could exhaust the stack and end the
// process.
import { describe, expect, it } from "vitest";
import { type ApiWorld, inApiWorld } from "../../../tests/apiserver/api-world.ts";
import {
  isTooDeep,
  isYamlTooDeep,
  jsonNestingProblem,
  nestingMax,
} from "../../kube/yaml/nesting.ts";
import { parseYaml } from "../../kube/yaml/yaml-document.ts";

const deep = 5_000;

function nested(levels: number, open = "[", close = "]", inner = ""): string {
  return open.repeat(levels) + inner + close.repeat(levels);
}

describe("JSON text", () => {
  it("may nest to the limit and no deeper", () => {
    expect(jsonNestingProblem(nested(nestingMax))).toBeUndefined();
    expect(jsonNestingProblem(nested(nestingMax + 1))).toBe(
      "invalid character '[' exceeded max depth",
    );
    expect(jsonNestingProblem('{"a":'.repeat(deep))).toBe(
      "invalid character '{' exceeded max depth",
    );
  });

  it("may have any number of brackets beside each other, or in strings", () => {
    expect(jsonNestingProblem(`[${"[],".repeat(deep)}[]]`)).toBeUndefined();
    expect(jsonNestingProblem(`["${"[".repeat(deep)}\\"${"[".repeat(deep)}"]`)).toBeUndefined();
  });
});

describe("YAML text", () => {
  it("may nest to the limit and no deeper, in every style", () => {
    expect(isYamlTooDeep(`a: ${nested(nestingMax - 10)}`)).toBe(false);
    const indented = Array.from({ length: 600 }, (_, level) => `${" ".repeat(level)}a:\n`).join("");
    for (const text of [nested(deep), "- ".repeat(deep), "? ".repeat(deep), indented]) {
      expect(isYamlTooDeep(text)).toBe(true);
    }
  });

  it("has no limit on its length", () => {
    expect(isYamlTooDeep("- name: a\n  value: '[[[['\n".repeat(1_000))).toBe(false);
  });

  it.each([
    ["a: &a [*a]", "yaml: anchor 'a' value contains itself"],
    ["a: &a {<<: *a}", "yaml: anchor 'a' value contains itself"],
    [nested(deep), `yaml: exceeded max depth of ${nestingMax}`],
    [laughs(), "yaml: document contains excessive aliasing"],
    [chained(), `yaml: exceeded max depth of ${nestingMax}`],
  ])("is refused before it is expanded: %#", (text, problem) => {
    expect(() => parseYaml(Buffer.from(text))).toThrow(
      expect.objectContaining({ name: "YamlProblem", message: problem }),
    );
  });
});

describe("a value", () => {
  it("that contains itself is too deep", () => {
    const self: unknown[] = [];
    self.push({ self });
    expect(isTooDeep(self)).toBe(true);
    expect(isTooDeep([[{ a: [null, 1] }]])).toBe(false);
  });
});

describe("a request that nests too deep", () => {
  const maps = "/api/v1/namespaces/default/configmaps";
  const patched = async ({ call }: ApiWorld, type: string, body: string) => {
    const query = type === "apply-patch+yaml" ? "?fieldManager=a" : "";
    const options = { contentType: `application/${type}` };
    const { status, json } = await call("PATCH", `${maps}/a${query}`, body, options);
    return [status, Object(json).message];
  };

  it("is refused in every format", () =>
    inApiWorld(async (world) => {
      const { call } = world;
      await call("POST", maps, { metadata: { name: "a" } });
      const created = await call("POST", maps, `{"metadata":{"name":"b"},"x":${nested(deep)}}`);
      expect([created.status, Object(created.json).message]).toEqual([
        400,
        "the object provided is unrecognized (must be of type ConfigMap): couldn't get " +
          "version/kind; json parse error: invalid character '[' exceeded max depth " +
          '({"metadata":{"name":"b"},"x":[ ...)',
      ]);
      const body = `{"x":${nested(deep, '{"a":', "}", "1")}}`;
      const problem = "invalid character '{' exceeded max depth";
      expect(await patched(world, "merge-patch+json", body)).toEqual([
        400,
        `error decoding patch: ${problem}`,
      ]);
      expect(await patched(world, "strategic-merge-patch+json", body)).toEqual([400, problem]);
      expect(await patched(world, "apply-patch+yaml", body)).toEqual([
        400,
        `error decoding YAML: error converting YAML to JSON: yaml: exceeded max depth of ${nestingMax}`,
      ]);
    }));

  it("is refused if only its operations together nest too deep", () =>
    inApiWorld(async (world) => {
      await world.call("POST", maps, { metadata: { name: "a" } });
      const levels = 400;
      const value: unknown = JSON.parse(nested(levels, '{"a":', "}", "1"));
      const operations = [
        { op: "add", path: "/x", value },
        { op: "add", path: `/x${"/a".repeat(levels)}`, value },
      ];
      expect(await patched(world, "json-patch+json", JSON.stringify(operations))).toEqual([
        400,
        "error decoding patch: exceeded max depth",
      ]);
    }));
});

/** Each line means ten times what the line before it means. */
function laughs(): string {
  const line = (level: number) =>
    `a${level}: &a${level} [${Array(10)
      .fill(`*a${level - 1}`)
      .join()}]`;
  return ["a0: &a0 [x]", ...Array.from({ length: 9 }, (_, level) => line(level + 1))].join("\n");
}

/** No line nests deep, but each contains the line before it. */
function chained(): string {
  const line = (level: number) =>
    `a${level}: &a${level} ${nested(200, "[", "]", `*a${level - 1}`)}`;
  return ["a0: &a0 [x]", ...Array.from({ length: 3 }, (_, level) => line(level + 1))].join("\n");
}
