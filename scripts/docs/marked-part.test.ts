import { expect, test } from "vitest";
import { asCode, newPart, partNames, typedOutputs, withPart } from "./marked-part.ts";

const document = `# Title\n\n${newPart("made: one", "1\n")}\ntext\n\n${newPart("made: two", "2\n")}`;

test("a part is replaced and the rest stays", () => {
  expect(withPart(document, "made: one", "a\nb\n")).toBe(document.replace("1\n", "a\nb\n"));
  expect(withPart(document, "made: two", "")).toBe(document.replace("2\n", ""));
  expect(withPart(document, "made: three", "x")).toBeUndefined();
});

test("a part that does not end is an error", () => {
  expect(() => withPart("<!-- made: one -->\n1\n", "made: one", "x\n")).toThrow("does not end");
});

test("the names of all parts are known", () => {
  expect(partNames(document)).toEqual(["made: one", "made: two"]);
});

test("an output outside of all marked parts is found by its line", () => {
  const made = newPart("made: one", asCode("1"));
  expect(typedOutputs(`${made}\n${asCode("2")}\n\`\`\`sh\nls\n\`\`\`\n`)).toEqual([7]);
});

test("output is quoted without blank lines around it", () => {
  expect(asCode("a\n\n")).toBe("```\na\n```\n");
});
