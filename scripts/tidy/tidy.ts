// The style that a machine can check, as a test: each rule names the file, the line and the reason.
// It reads the syntax tree, because a text search would trip over strings and comments.
import { dirname, posix } from "node:path";
import { parseSync, Visitor, type VisitorObject } from "oxc-parser";
import {
  ambientAllowed,
  folders,
  ofThePage,
  ordinaryClients,
  ownServer,
  pureFolders,
} from "./folders.ts";
import { clauseReason, clauseStart, unclearWords, withoutCode } from "./plain-words.ts";

export interface Breach {
  readonly file: string;
  readonly line: number;
  readonly problem: string;
  readonly reason: string;
}

const ambientReason =
  "time, chance, files and sockets come from the Environment, so that the same code runs in " +
  "virtual time and every run repeats from its seed";

const bannedGlobals = new Set([
  "setTimeout",
  "setInterval",
  "setImmediate",
  "fetch",
  "performance",
  "process",
]);

const bannedMembers = new Set([
  "Date.now",
  "Math.random",
  "AbortSignal.timeout",
  "crypto.randomUUID",
  "crypto.getRandomValues",
]);

/** `*` bans the whole module; a list bans just those names. */
const bannedModules: Readonly<Record<string, "*" | readonly string[]>> = {
  "node:net": "*",
  "node:tls": "*",
  "node:http": "*",
  "node:https": "*",
  "node:http2": "*",
  "node:dgram": "*",
  "node:dns": "*",
  "node:fs": "*",
  "node:fs/promises": "*",
  "node:child_process": "*",
  "node:timers": "*",
  "node:timers/promises": "*",
  "node:process": "*",
  "node:os": "*",
  "node:perf_hooks": "*",
  "node:crypto": ["randomUUID", "randomBytes", "randomInt", "randomFillSync", "getRandomValues"],
};

/** Names of these modules that are plain functions of their arguments. */
const pureNames: Readonly<Record<string, readonly string[]>> = { "node:net": ["isIP"] };

const contractProblem = "is not a contract suite";
const contractReason =
  "a contract suite exports functions …Contract that register the same tests for each " +
  "implementation; worlds, judges and other fixtures live in tests/";

const vagueNames = /(^|[-/])(utils?|helpers?|common|manager|misc)([-./]|$)/;

/** Checks one source file; `path` is relative to the repository, with forward slashes. */
export function tidy(path: string, source: string): Breach[] {
  const parsed = parseSync(path, source);
  const breaches: Breach[] = [];
  const report = (offset: number, problem: string, reason: string) => {
    const line = source.slice(0, offset).split("\n").length;
    breaches.push({ file: path, line, problem, reason });
  };
  for (const error of parsed.errors) report(0, `does not parse: ${error.message}`, "syntax");
  const isTest = /\.(test|contract)\.ts$/.test(path) || !path.startsWith("src/");
  checkName(path, report);
  if (!/\.test\.(ts|mjs)$/.test(path)) checkHeader(parsed.comments, source, report);
  checkComments(parsed.comments, report);
  if (!quotingWords.has(path)) {
    checkCommentWords(parsed.comments, report);
    if (path.startsWith("src/")) {
      checkCommentStarts(parsed.comments, report);
    }
    checkTestNames(parsed.program, report);
  }
  const imports = importsOf(parsed, source);
  if (path.endsWith(".contract.ts")) checkContract(imports, parsed.program, report);
  if (!isTest) {
    for (const one of imports) {
      checkModule(path, one.from, one.names, one.start, report);
      if (one.from.startsWith(".")) checkDirection(path, one.from, one.start, report);
    }
  }
  if (path.startsWith("ui/") && !path.endsWith(".test.ts")) {
    for (const one of imports) checkPageImport(path, one.from, one.start, report);
  }
  checkSyntax(path, isTest, parsed.program, report);
  return breaches;
}

type Report = (offset: number, problem: string, reason: string) => void;
type Parsed = ReturnType<typeof parseSync>;
type CallExpression = Parameters<NonNullable<VisitorObject["CallExpression"]>>[0];

function checkName(path: string, report: Report): void {
  if (vagueNames.test(path)) {
    report(0, `the name "${path}" says nothing`, "a file is named for the one thing it exports");
  }
}

/** A test needs none: its subject has one, and its sentences say the rest. */
function checkHeader(comments: Parsed["comments"], source: string, report: Report): void {
  const first = comments[0];
  const head = source.startsWith("#!") ? source.indexOf("\n") + 1 : 0;
  if (first === undefined || first.start > head) {
    report(0, "has no header comment", "a reader learns first what a file is for");
  }
}

function checkComments(comments: Parsed["comments"], report: Report): void {
  for (const comment of comments) {
    const found = /\b(TODO|FIXME|XXX|HACK)\b/.exec(comment.value)?.[1];
    if (found !== undefined) {
      report(comment.start, `a ${found} comment`, "open work is tracked where it is planned");
    }
    const silenced = /@ts-(ignore|expect-error|nocheck)/.exec(comment.value)?.[0];
    if (silenced !== undefined) {
      report(comment.start, `a ${silenced} comment`, "a silenced compiler checks nothing");
    }
  }
}

/** They have the refused words as data. */
const quotingWords = new Set([
  "scripts/tidy/plain-words.ts",
  "scripts/tidy/plain-words.test.ts",
  "scripts/tidy/tidy.test.ts",
]);

function checkCommentWords(comments: Parsed["comments"], report: Report): void {
  for (const { start, value } of comments) {
    for (const { offset, word, reason } of unclearWords(withoutCode(value))) {
      report(start + offset, `the word "${word}" in a comment`, reason);
    }
  }
}

function checkCommentStarts(comments: Parsed["comments"], report: Report): void {
  for (const { start, value } of comments) {
    const word = clauseStart(value);
    if (word !== undefined)
      report(start, `a sentence of a comment that begins with "${word}"`, clauseReason);
  }
}

/** Names of tests and of their groups, also behind `.each(…)`, `.skipIf(…)` and the like. */
function checkTestNames(program: Parsed["program"], report: Report): void {
  new Visitor({
    CallExpression({ callee, arguments: [name] }) {
      if (name === undefined || !registersTest(callee)) return;
      const texts =
        name.type === "TemplateLiteral"
          ? name.quasis.map(({ value }) => value.raw)
          : name.type === "Literal" && typeof name.value === "string"
            ? [name.value]
            : [];
      for (const { word, reason } of texts.flatMap((text) => unclearWords(withoutCode(text)))) {
        report(name.start, `the word "${word}" in the name of a test`, reason);
      }
    },
  }).visit(program);
}

function registersTest(callee: CallExpression["callee"]): boolean {
  if (callee.type === "Identifier") return /^(it|test|describe)$/.test(callee.name);
  if (callee.type === "CallExpression") return registersTest(callee.callee);
  return callee.type === "MemberExpression" && registersTest(callee.object);
}

interface Import {
  readonly from: string;
  readonly names: readonly string[];
  readonly start: number;
}

/** Imports, re-exports and dynamic imports with a literal name. */
function importsOf(parsed: Parsed, source: string): Import[] {
  const { staticImports, staticExports, dynamicImports } = parsed.module;
  return [
    ...staticImports.map((one) => ({
      from: one.moduleRequest.value,
      names: one.entries.map((entry) => entry.importName.name ?? "*"),
      start: one.start,
    })),
    ...staticExports.flatMap((one) =>
      one.entries.flatMap((entry) =>
        entry.moduleRequest
          ? [{ from: entry.moduleRequest.value, names: ["*"], start: one.start }]
          : [],
      ),
    ),
    ...dynamicImports.map((one) => ({
      from: source.slice(one.moduleRequest.start, one.moduleRequest.end).replace(/["'`]/g, ""),
      names: ["*"],
      start: one.start,
    })),
  ];
}

/** Each value it exports registers tests for the implementation that it is given. */
function checkContract(
  imports: readonly Import[],
  program: Parsed["program"],
  report: Report,
): void {
  const registersTests = imports.some(
    ({ from, names }) =>
      from === "vitest" && ["describe", "it", "test"].some((name) => names.includes(name)),
  );
  const values = program.body.filter(
    (node) =>
      node.type.startsWith("Export") && !("exportKind" in node && node.exportKind === "type"),
  );
  if (!registersTests || values.length === 0 || !values.every(isSuite)) {
    report(0, contractProblem, contractReason);
  }
}

function isSuite(node: Parsed["program"]["body"][number]): boolean {
  if (node.type !== "ExportNamedDeclaration") return false;
  const made = node.declaration;
  if (made?.type !== "FunctionDeclaration" || made.id === null) return false;
  return made.id.name.endsWith("Contract") && made.params.length > 0;
}

function checkModule(
  path: string,
  from: string,
  names: readonly string[],
  offset: number,
  report: Report,
): void {
  if (ambientAllowed.some((allowed) => path.startsWith(allowed))) return;
  const banned = bannedModules[from] ?? bannedModules[`node:${from}`] ?? [];
  const pure = pureNames[from] ?? [];
  if (banned === "*" && !(names.length > 0 && names.every((name) => pure.includes(name)))) {
    report(offset, `imports ${from}`, ambientReason);
    return;
  }
  if (banned === "*") return;
  for (const name of names) {
    if (banned.length > 0 && (name === "*" || banned.includes(name))) {
      report(offset, `imports ${name} from ${from}`, ambientReason);
    }
  }
}

function checkPageImport(path: string, from: string, offset: number, report: Report): void {
  const target = posix.normalize(posix.join(dirname(path), from));
  if (!from.startsWith(".") || target.startsWith("ui/") || ofThePage.includes(target)) return;
  report(offset, `the page imports ${target}`, "the page knows the contract of the server alone");
}

function checkDirection(path: string, from: string, offset: number, report: Report): void {
  const target = posix.normalize(posix.join(dirname(path), from));
  const [, own = ""] = path.split("/");
  const [top, other = ""] = target.split("/");
  const folder = folders[own];
  if (top !== "src") {
    report(offset, `imports ${target}`, "src stands on its own");
  } else if (/\.(test|contract)\.ts$/.test(target)) {
    report(offset, `imports ${target}`, "product code runs without tests");
  } else if (
    ordinaryClients.some((part) => path.startsWith(part)) &&
    target.startsWith(ownServer)
  ) {
    report(offset, `imports ${target}`, "an ordinary client runs against any API server");
  } else if (own === other || own === "main.ts") {
    return;
  } else if (folder === undefined) {
    report(offset, `src/${own} has no place`, "name the folder in scripts/tidy/folders.ts");
  } else if (!folder.mayImport.includes(other)) {
    report(offset, `src/${own} imports src/${other}`, folder.reason);
  }
}

function checkSyntax(
  path: string,
  isTest: boolean,
  program: Parsed["program"],
  report: Report,
): void {
  new Visitor({
    TSAnyKeyword(node) {
      report(node.start, "the type any", "any switches the compiler off; use unknown at the edge");
    },
    ExportDefaultDeclaration(node) {
      if (path.startsWith("src/")) {
        report(node.start, "a default export", "one name for one thing, everywhere");
      }
    },
    MemberExpression(node) {
      const name = memberName(node);
      if (/^(it|test|describe)\.(only|todo)$/.test(name)) {
        report(node.start, name, "a test that runs alone hides the others");
      }
    },
  }).visit(program);
  const isOfPage = path.startsWith("ui/") && !path.endsWith(".test.ts");
  const isShown = isOfPage || (!isTest && !imitating.some((folder) => path.startsWith(folder)));
  if (isShown) checkWords(program, report);
  const ambient = isTest || ambientAllowed.some((allowed) => path.startsWith(allowed));
  if (!ambient) checkAmbient(program, report);
  if (!isTest && pureFolders.some((pure) => path.startsWith(pure))) checkPure(program, report);
}

/** The lab and its API server write the words of Kubernetes; a simulation is seen by developers only. */
const imitating = ["src/apiserver/", "src/components/", "src/lab/", "src/simulation/"];

/** In texts for people, which have several words; a single one is a name for machines. */
function checkWords(program: Parsed["program"], report: Report): void {
  const check = (start: number, text: string): void => {
    if (!/\S\s+\S/.test(text)) return;
    for (const { word, reason } of unclearWords(text)) {
      report(start, `the word "${word}" in a text`, reason);
    }
  };
  new Visitor({
    Literal(node) {
      if (typeof node.value === "string") check(node.start, node.value);
    },
    TemplateElement(node) {
      check(node.start, node.value.raw);
    },
    JSXText(node) {
      check(node.start, node.value);
    },
  }).visit(program);
}

function checkAmbient(program: Parsed["program"], report: Report): void {
  new Visitor({
    MemberExpression(node) {
      const name = memberName(node);
      const [owner = "", member = ""] = name.split(".");
      const banned =
        bannedMembers.has(name) ||
        owner === "process" ||
        owner === "performance" ||
        (owner === "globalThis" && bannedGlobals.has(member));
      if (banned) report(node.start, name, ambientReason);
    },
    NewExpression(node) {
      if (node.callee.type !== "Identifier" || node.callee.name !== "Date") return;
      if (node.arguments.length === 0) report(node.start, "new Date()", ambientReason);
    },
    CallExpression(node) {
      if (node.callee.type !== "Identifier" || !bannedGlobals.has(node.callee.name)) return;
      report(node.start, `${node.callee.name}()`, ambientReason);
    },
  }).visit(program);
}

function checkPure(program: Parsed["program"], report: Report): void {
  const reject = (node: { readonly start: number; readonly async?: boolean }) => {
    if (node.async === false) return;
    report(node.start, "asynchronous code", "decisions are pure functions of what is known");
  };
  new Visitor({
    FunctionDeclaration: reject,
    FunctionExpression: reject,
    ArrowFunctionExpression: reject,
    AwaitExpression: reject,
  }).visit(program);
}

/** `Date.now` of a plain member access, else an empty string. */
function memberName(node: Parameters<NonNullable<VisitorObject["MemberExpression"]>>[0]): string {
  if (node.object.type !== "Identifier" || node.property.type !== "Identifier") return "";
  return `${node.object.name}.${node.property.name}`;
}

export function describeBreach(breach: Breach): string {
  return `${breach.file}:${breach.line}: ${breach.problem}\n    why: ${breach.reason}`;
}
