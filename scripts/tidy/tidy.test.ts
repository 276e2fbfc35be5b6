// Runs the tidy rules over the repository, and shows that each rule can fail.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { CleanFiles } from "./clean-files.ts";
import { ambientAllowed, folders, ordinaryClients, ownServer, pureFolders } from "./folders.ts";
import { describeBreach, tidy } from "./tidy.ts";

const header = "// The purpose of this file.\n";

function problems(path: string, code: string): string[] {
  return tidy(path, header + code).map((breach) => `${breach.line}: ${breach.problem}`);
}

const files = execFileSync(
  "git",
  ["ls-files", "--cached", "--others", "--exclude-standard", "*.ts", "*.tsx", "*.mjs"],
  { encoding: "utf8" },
)
  .split("\n")
  .filter((path) => path !== "" && existsSync(path));

it("finds nothing to say about this repository", () => {
  expect(files.length).toBeGreaterThan(20);
  const clean = new CleanFiles();
  const breaches = files.flatMap((path) => {
    const source = readFileSync(path, "utf8");
    if (clean.has(path, source)) return [];
    const found = tidy(path, source);
    if (found.length === 0) clean.add(path, source);
    return found;
  });
  clean.save();
  expect(breaches.map(describeBreach)).toEqual([]);
});

it("knows every folder of src, and no other", () => {
  const found = files.flatMap((path) => /^src\/([^/]+)\//.exec(path)?.[1] ?? []);
  expect(Object.keys(folders).sort()).toEqual([...new Set(found)].sort());
  const parts = [...ordinaryClients, ownServer, ...ambientAllowed, ...pureFolders];
  expect(parts.filter((path) => !existsSync(path))).toEqual([]);
});

it("has the same rules as ARCHITECTURE.md for the imports of each folder", () => {
  const rows = readFileSync("ARCHITECTURE.md", "utf8").matchAll(
    /^\| `src\/([\w-]+)\/` \|.*\| ([^|]*) \|$/gm,
  );
  expect(Object.fromEntries([...rows].map(([, name, words]) => [name, words]))).toEqual(
    Object.fromEntries(Object.keys(folders).map((name) => [name, mayImportInWords(name)])),
  );
});

function mayImportInWords(name: string): string {
  const allowed = folders[name]?.mayImport ?? [];
  const others = Object.keys(folders).filter((other) => other !== name);
  const [refused, ...more] = others.filter((other) => !allowed.includes(other));
  if (refused === undefined) return "everything";
  if (more.length === 0) return `everything but ${refused}`;
  return allowed.length === 0 ? "nothing" : allowed.join(", ");
}

it("names file, line and reason", () => {
  const [breach] = tidy("src/kube/x.ts", `${header}\nexport const now = Date.now();\n`);
  expect(breach && describeBreach(breach)).toBe(
    "src/kube/x.ts:3: Date.now\n    why: time, chance, files and sockets come from the " +
      "Environment, so that the same code runs in virtual time and every run repeats from its seed",
  );
});

it.each([
  ["src/cli/x.ts", 'const text = "the proxy was told";', 'the word "told" in a text'],
  ["src/cli/x.ts", "const text = `heard by nobody`;", 'the word "heard" in a text'],
  ["src/cli/x.ts", 'const type = "heard";', undefined],
  ["src/lab/x.ts", 'const text = "the proxy was told";', undefined],
  ["src/cli/x.test.ts", 'const text = "the proxy was told";', undefined],
  ["ui/src/x.tsx", "const text = <p>the proxy was told</p>;", 'the word "told" in a text'],
])("refuses unclear words in texts for people: %s %s", (path, line, problem) => {
  const [breach] = tidy(path, `${header}\nexport ${line}\n`);
  expect(breach?.problem).toBe(problem);
});

it.each([
  ["src/kube/x.ts", "// A watch is told.", 'the word "told" in a comment'],
  ["tests/kube/x.ts", "/** Of whom. */", 'the word "whom" in a comment'],
  ["src/kube/x.ts", "// The field `told`.", undefined],
  ["src/lab/x.ts", "// A watch is told.", 'the word "told" in a comment'],
  ["src/kube/x.test.ts", 'test("is told", run);', 'the word "told" in the name of a test'],
  ["e2e/x.test.ts", 'it.each([1])("%s anew", run);', 'the word "anew" in the name of a test'],
  [
    "e2e/x.test.ts",
    "describe.skipIf(no)(`nobody`, run);",
    'the word "nobody" in the name of a test',
  ],
  ["src/kube/x.test.ts", 'check("is told", run);', undefined],
  [
    "src/kube/x.ts",
    "/** What a watch sends. */",
    'a sentence of a comment that begins with "What"',
  ],
  [
    "src/kube/x.ts",
    "// An event of a watch. What it sends.",
    'a sentence of a comment that begins with "What"',
  ],
  [
    "src/kube/x.ts",
    "/**\n * Whose it is.\n */",
    'a sentence of a comment that begins with "Whose"',
  ],
  ["src/kube/x.ts", "// Events, and what they show.", undefined],
])("refuses unclear words in comments and names of tests: %s %s", (path, line, problem) => {
  const [breach] = tidy(path, `${header}\n${line}\n`);
  expect(breach?.problem).toBe(problem);
});

it.each([
  ["Date.now()", "Date.now"],
  ["new Date()", "new Date()"],
  ["setTimeout(f, 1)", "setTimeout()"],
  ["globalThis.setTimeout", "globalThis.setTimeout"],
  ["Math.random()", "Math.random"],
  ["performance.now()", "performance.now"],
  ["process.env", "process.env"],
  ["fetch(url)", "fetch()"],
  ["AbortSignal.timeout(5)", "AbortSignal.timeout"],
])("refuses %s in product code", (code, problem) => {
  expect(problems("src/kube/x.ts", `export const x = ${code};`)).toEqual([`2: ${problem}`]);
});

it("lets dates made from a value pass, and ambient time where it is wrapped", () => {
  expect(problems("src/kube/x.ts", "export const x = new Date(0);")).toEqual([]);
  expect(problems("src/environment/node/x.ts", "export const x = Date.now();")).toEqual([]);
});

it.each([
  ["src/kube/x.ts", "../lab/y.ts", ["2: src/kube imports src/lab"]],
  ["src/kube/x.ts", "../simulation/y.ts", ["2: src/kube imports src/simulation"]],
  ["src/decide/truth/x.ts", "../../outputs/y.ts", ["2: src/decide imports src/outputs"]],
  ["src/apiserver/x.ts", "../environment/clock.ts", []],
  ["src/apiserver/x.ts", "../lab/y.ts", ["2: src/apiserver imports src/lab"]],
  ["src/lab/kubelet/x.ts", "../../apiserver/y.ts", ["2: imports src/apiserver/y.ts"]],
  ["src/lab/kubelet/x.test.ts", "../../apiserver/y.ts", []],
  ["src/new/x.ts", "../kube/y.ts", ["2: src/new has no place"]],
  ["src/kube/x.ts", "node:net", ["2: imports node:net"]],
  ["src/kube/x.ts", "../../tests/y.ts", ["2: imports tests/y.ts"]],
  ["src/kube/x.ts", "./y.contract.ts", ["2: imports src/kube/y.contract.ts"]],
  ["src/kube/x.test.ts", "../lab/y.ts", []],
  ["src/kube/x.test.ts", "../../tests/y.ts", []],
  ["tests/kube/x.ts", "../../src/kube/y.ts", []],
  ["ui/src/x.tsx", "../../src/server/api.ts", []],
  ["ui/src/x.tsx", "../../src/kube/y.ts", ["2: the page imports src/kube/y.ts"]],
  ["ui/src/x.test.ts", "../../tests/page/y.ts", []],
])("checks the direction of an import: %s → %s", (path, from, expected) => {
  expect(problems(path, `import { y } from "${from}";\nexport const z = y;`)).toEqual(expected);
});

it.each([
  ["a suite", "export function xContract(open: Open): void {}", []],
  ["a suite with its types", "export type T = 1;\nexport function xContract(t: T): void {}", []],
  [
    "a suite that takes no implementation",
    "export function xContract(): void {}",
    ["1: is not a contract suite"],
  ],
  [
    "a fixture beside",
    "export const y = 1;\nexport function xContract(open: Open): void {}",
    ["1: is not a contract suite"],
  ],
  ["a world", "export class World {}", ["1: is not a contract suite"]],
  ["nothing", "", ["1: is not a contract suite"]],
])("asks a contract for suites: %s", (_, code, expected) => {
  const registering = `import { expect, it } from "vitest";\n${code}`;
  const judging = `import { expect } from "vitest";\n${code}`;
  expect(problems("src/kube/x.contract.ts", registering)).toEqual(expected);
  expect(problems("src/kube/x.contract.ts", judging)).toEqual(["1: is not a contract suite"]);
  expect(problems("tests/kube/x.ts", judging)).toEqual([]);
});

it("allows what is pure of a module that is not", () => {
  const importing = (names: string) =>
    problems("src/kube/x.ts", `import { ${names} } from "node:net";\nexport const z = y;`);
  expect(importing("isIP as y")).toEqual([]);
  expect(importing("isIP, createServer as y")).toEqual(["2: imports node:net"]);
});

it("sees re-exports and dynamic imports", () => {
  expect(problems("src/kube/x.ts", 'export { y } from "../lab/y.ts";')).toEqual([
    "2: src/kube imports src/lab",
  ]);
  expect(problems("src/kube/x.ts", 'export const y = () => import("../lab/y.ts");')).toEqual([
    "2: src/kube imports src/lab",
  ]);
});

it("refuses random functions of node:crypto and allows hashes", () => {
  expect(
    problems("src/kube/x.ts", 'import { createHash, randomUUID } from "node:crypto";'),
  ).toEqual(["2: imports randomUUID from node:crypto"]);
});

it("refuses any, default exports, open work, silenced compilers, lonely tests, vague names", () => {
  expect(problems("src/kube/x.ts", "export const x: any = 1;")).toEqual(["2: the type any"]);
  expect(problems("src/kube/x.ts", "export default 1;")).toEqual(["2: a default export"]);
  expect(problems("src/kube/x.ts", `// ${"TO"}DO later`)).toEqual([`2: a ${"TO"}DO comment`]);
  expect(problems("src/kube/x.ts", "// @ts-ignore")).toEqual(["2: a @ts-ignore comment"]);
  expect(problems("src/kube/x.test.ts", "it.only('x', f);")).toEqual(["2: it.only"]);
  expect(problems("src/kube/utils.ts", "")).toEqual([
    '1: the name "src/kube/utils.ts" says nothing',
  ]);
});

it("asks for a header comment", () => {
  expect(tidy("src/kube/x.ts", "export const x = 1;\n")).toEqual([
    {
      file: "src/kube/x.ts",
      line: 1,
      problem: "has no header comment",
      reason: "a reader learns first what a file is for",
    },
  ]);
});

it("keeps decisions pure", () => {
  expect(problems("src/decide/truth/x.ts", "export async function f() {}")).toEqual([
    "2: asynchronous code",
  ]);
});
