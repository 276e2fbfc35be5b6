// What a command's help says of its flags, and the text below them, fitted to the terminal:
// paragraphs are broken anew, lines that are indented stay as they are.
import type { Option } from "commander";
import { wrapText } from "../doctor/report/wrapped-text.ts";
import type { Terminal } from "../environment/terminal.ts";

/** Longer lines are hard to read, however wide the terminal is. */
export const widestHelp = 100;

export function helpText({ columns }: Pick<Terminal, "columns">, text: string): string {
  const width = Math.min(columns, widestHelp);
  const lines: string[] = [];
  let paragraph: string[] = [];
  const endParagraph = (): void => {
    if (paragraph.length > 0) lines.push(...wrapText(paragraph.join(" "), { width }));
    paragraph = [];
  };
  for (const line of text.split("\n")) {
    if (line !== "" && !line.startsWith(" ")) {
      paragraph.push(line);
      continue;
    }
    endParagraph();
    lines.push(line);
  }
  endParagraph();
  return lines.join("\n");
}

/** What a flag is for; with the choices it has, and with its default where that tells something. */
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

/** That a flag is not given unless it is given, or nothing listed, everybody knows. */
function defaultText({
  defaultValue,
  defaultValueDescription,
}: Pick<Option, "defaultValue" | "defaultValueDescription">): string | undefined {
  if (defaultValueDescription !== undefined) return defaultValueDescription;
  const isTelling = typeof defaultValue === "string" || typeof defaultValue === "number";
  return isTelling ? String(defaultValue) : undefined;
}
