// Fits the text below the flags of a command to the terminal. Paragraphs and explanations beside a
// term are wrapped; other indented lines, such as commands to copy, stay unchanged, except for the
// name of the program.
import type { Option } from "commander";
import type { CommandContext } from "./command.ts";
import { wrapText } from "./terminal/text.ts";
import { typedCommand } from "./typed-command.ts";

/** Longer lines are hard to read. */
export const widestHelp = 100;

interface HelpContext {
  readonly environment: Pick<CommandContext["environment"], "processes">;
  readonly terminal: Pick<CommandContext["terminal"], "columns">;
}

/** With less room beside its term, an explanation goes below it, indented. */
const narrowestBeside = 30;
const indentBelow = 6;

export function helpText({ environment, terminal }: HelpContext, text: string): string {
  const width = Math.min(terminal.columns, widestHelp);
  const lines: string[] = [];
  let open: { readonly words: string[]; readonly entry?: Entry } | undefined;
  const end = (): void => {
    if (open === undefined) return;
    const words = open.words.join(" ");
    if (open.entry === undefined) lines.push(...wrapText(words, { width }));
    else lines.push(...entryLines(open.entry, words, width));
    open = undefined;
  };
  for (const line of withTypedCommands(environment, text).split("\n")) {
    const trimmed = line.trimStart();
    const indent = line.length - trimmed.length;
    const isSentence = line !== "" && indent === 0;
    const goesOn = isSentence ? open?.entry === undefined : indent === open?.entry?.column;
    if (open !== undefined && goesOn && line !== "") {
      open.words.push(trimmed);
      continue;
    }
    end();
    const entry = entryOf(line);
    if (isSentence) open = { words: [line] };
    else if (entry !== undefined) open = { words: [line.slice(entry.column)], entry };
    else lines.push(line);
  }
  end();
  return lines.join("\n");
}

/** An example is a command to copy. */
function withTypedCommands({ processes }: HelpContext["environment"], text: string): string {
  return text.replace(/^( +)lockstep (.*)$/gm, (_, indent: string, words: string) => {
    return `${indent}${typedCommand(processes, words)}`;
  });
}

/** A term, and the column of its explanation. */
interface Entry {
  readonly term: string;
  readonly column: number;
}

/** Two columns are a term and its explanation; more columns are a table and stay unchanged. */
function entryOf(line: string): Entry | undefined {
  const [, term, gap] = /^( +\S+(?: \S+)*)( {2,})\S+(?: \S+)*$/.exec(line) ?? [];
  if (term === undefined || gap === undefined) return undefined;
  return { term, column: term.length + gap.length };
}

function entryLines({ term, column }: Entry, words: string, width: number): readonly string[] {
  if (column + Math.min(words.length, narrowestBeside) <= width) {
    return wrapText(words, { width, first: term.padEnd(column), rest: " ".repeat(column) });
  }
  const below = " ".repeat(indentBelow);
  return [term, ...wrapText(words, { width, first: below, rest: below })];
}

/** The description of a flag with its choices and its default. */
export function optionText(
  option: Pick<Option, "description" | "argChoices" | "defaultValue" | "defaultValueDescription">,
): string {
  const { description, argChoices } = option;
  const usual = defaultText(option);
  const facts = [
    ...(argChoices === undefined ? [] : [`choices: ${argChoices.join(", ")}`]),
    ...(usual === undefined ? [] : [`default: ${usual}`]),
  ];
  return facts.length === 0 ? description : `${description} (${facts.join("; ")})`;
}

/** Defaults such as false or an empty list are not shown. */
function defaultText({
  defaultValue,
  defaultValueDescription,
}: Pick<Option, "defaultValue" | "defaultValueDescription">): string | undefined {
  if (defaultValueDescription !== undefined) return defaultValueDescription;
  const isTelling = typeof defaultValue === "string" || typeof defaultValue === "number";
  return isTelling ? String(defaultValue) : undefined;
}
