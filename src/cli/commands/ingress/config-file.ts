// The config file: YAML with a field for every flag. Nothing in it is passed over: a field that does
// not exist or a value that cannot be is a problem with its place and what would be right, and all
// problems are told together.
import { isMap, isNode, isScalar, isSeq, LineCounter, type Node, parseDocument } from "yaml";
import { nearestNames } from "../../../decide/nearest-names.ts";
import { type Setting, SettingError } from "./setting.ts";

/** The texts of each field that is set. */
export type SettingTexts = ReadonlyMap<string, readonly string[]>;

export type ConfigFile =
  | { readonly kind: "read"; readonly texts: SettingTexts }
  /** Each with file, line and column. */
  | { readonly kind: "wrong"; readonly problems: readonly string[] };

export function readConfigFile(
  file: string,
  text: string,
  settings: readonly Setting<unknown>[],
): ConfigFile {
  const lines = new LineCounter();
  const { contents, errors, warnings } = parseDocument(text, { lineCounter: lines });
  const problems: string[] = [];
  const report = (offset: number, message: string): void => {
    const { line, col } = lines.linePos(offset);
    problems.push(`${file}:${line}:${col}: ${message}`);
  };
  for (const { pos, message } of [...errors, ...warnings]) report(pos[0], firstLine(message));
  if (problems.length > 0) return { kind: "wrong", problems };
  const texts = new Map<string, readonly string[]>();
  if (contents === null || isNothing(contents)) return { kind: "read", texts };
  if (!isMap(contents)) report(0, "the file must contain fields, such as class: web");
  for (const { key, value } of isMap(contents) ? contents.items : []) {
    const field = isScalar(key) ? String(key.value) : "";
    const setting = settings.find((one) => one.field === field);
    if (setting === undefined) {
      report(isNode(key) ? (key.range?.[0] ?? 0) : 0, unknownField(field, settings));
      continue;
    }
    // A field without a value has its default.
    if (!isNode(value) || isNothing(value)) continue;
    const read = readField(setting, value);
    if ("problem" in read) report(value.range?.[0] ?? 0, read.problem);
    else texts.set(field, read.texts);
  }
  return problems.length > 0 ? { kind: "wrong", problems } : { kind: "read", texts };
}

function readField(
  setting: Setting<unknown>,
  node: Node,
): { readonly texts: readonly string[] } | { readonly problem: string } {
  const { field } = setting;
  const texts = textsOf(node, setting);
  if (typeof texts === "string") return { problem: `${field}: ${texts}` };
  try {
    setting.parse(texts);
    return { texts };
  } catch (error) {
    if (!(error instanceof SettingError)) throw error;
    const shown = texts.map((value) => JSON.stringify(value)).join(", ");
    return { problem: `${field} cannot be ${shown}. ${error.message}` };
  }
}

/** Without the picture of the place, which is given as file, line and column. */
function firstLine(message: string): string {
  return (message.split("\n")[0] ?? message).replace(/ at line \d+, column \d+:?$/, "");
}

/** The texts, or what is wrong with the form. */
function textsOf(node: Node, { shape }: Setting<unknown>): readonly string[] | string {
  if (isScalar(node)) {
    if (shape === "switch" && typeof node.value !== "boolean") return "it must be true or false.";
    return [scalarText(node)];
  }
  if (shape !== "list") return "it must be a single value.";
  if (!isSeq(node) || !node.items.every((item) => isScalar(item))) {
    return "it must be a list of single values.";
  }
  return node.items.filter((item) => isScalar(item)).map(scalarText);
}

/** As it was written: 1.10 is a text where a text is wanted. */
function scalarText(node: { readonly source?: string; readonly value?: unknown }): string {
  return node.source ?? String(node.value);
}

function isNothing(node: unknown): boolean {
  return isScalar(node) && node.value === null;
}

function unknownField(field: string, settings: readonly Setting<unknown>[]): string {
  const fields = settings.map((one) => one.field);
  const byFlag = settings.find(({ flag, aliases }) =>
    [flag, ...aliases].some((one) => one === field || one === `--${field}`),
  );
  const nearest = byFlag?.field ?? nearestNames(field, fields)[0];
  const meant = nearest === undefined ? "" : `; did you mean "${nearest}"?`;
  return `there is no field "${field}"${meant === "" ? `; there are ${fields.join(", ")}` : meant}`;
}
