// The text below the flags of a command's help, fitted to the terminal: paragraphs are broken anew,
// lines that are indented stay as they are.
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
