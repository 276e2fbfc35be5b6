// The one table of all commands: rows of cells in columns of fixed width. A long cell is wrapped
// below itself. Colours are added after measuring. Pure.
import { textColumns, wrapText } from "./text.ts";

export interface Column {
  readonly width: number;
  readonly align: "left" | "right";
}

export type Cell = string | { readonly text: string; readonly paint: (text: string) => string };

const gap = "  ";

/** The width of the columns with their gaps. */
export function tableWidth(columns: readonly Column[]): number {
  return columns.reduce((sum, { width }) => sum + width + gap.length, -gap.length);
}

/** One row; it has as many lines as its longest cell. */
export function rowLines(
  cells: readonly Cell[],
  columns: readonly Column[],
  indent = "",
): readonly string[] {
  const wrapped = columns.map(({ width }, index) =>
    wrapText(textOf(cells[index] ?? ""), { width }),
  );
  const height = Math.max(...wrapped.map(({ length }) => length));
  return Array.from({ length: height }, (_, line) => {
    const parts = columns.map(({ width, align }, index) => {
      const text = wrapped[index]?.[line] ?? "";
      const space = " ".repeat(Math.max(0, width - textColumns(text)));
      const painted = text === "" ? "" : paintOf(cells[index] ?? "")(text);
      return align === "left" ? painted + space : space + painted;
    });
    return (indent + parts.join(gap)).trimEnd();
  });
}

function textOf(cell: Cell): string {
  return typeof cell === "string" ? cell : cell.text;
}

function paintOf(cell: Cell): (text: string) => string {
  return typeof cell === "string" ? (text) => text : cell.paint;
}
