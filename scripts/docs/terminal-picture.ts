// A picture of a terminal as SVG: text that can be selected and searched, on a ground of its own, so
// that it reads alike on a light and on a dark page. Each run is held to the width of its columns, so
// that columns stand below each other in whichever monospaced font there is. Pure.
import { textColumns } from "../../src/cli/terminal/text.ts";
import type { Line, Run, Style } from "./docs-terminal.ts";

export interface Caption {
  /** For those who do not see the picture. */
  readonly label: string;
}

/** Of a 14 px font; monospaced ones are 0.6 of their height wide. */
const columnWidth = 8.4;
/** As high as block characters are, so that the rows of a chart touch. */
const lineHeight = 16;
const margin = 16;
/** From the top of a line to the foot of its letters. */
const baseline = 13;

const fonts = "ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace";

/** Each has a contrast of 4.5 or more on the ground. */
const css = [
  `text{font:14px ${fonts};fill:#d6dde6;white-space:pre}`,
  ".strong{font-weight:700}",
  ".lockstep{fill:#6cb6ff}",
  ".secondary{fill:#8a97a6}",
  ".late{fill:#e5b052}",
  ".failed{fill:#ff7b72}",
].join("");

const ground = `rx="8" fill="#0f141a" stroke="#30363d"`;

export function terminalPicture(lines: readonly Line[], { label }: Caption): string {
  const columns = Math.max(...lines.map(widthOf));
  const width = Math.ceil(columns * columnWidth) + 2 * margin;
  const height = lines.length * lineHeight + 2 * margin;
  const size = `viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" aria-label="${escaped(label)}">`,
    `<style>${css}</style>`,
    `<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" ${ground}/>`,
    ...lines.map(textElement),
    "</svg>",
    "",
  ].join("\n");
}

/** The content of a picture of this kind: its lines, each a text element, and its label. */
export function readPicture(svg: string): Caption & { readonly lines: readonly Line[] } {
  const label = unescaped(/aria-label="([^"]*)"/.exec(svg)?.[1] ?? "");
  const lines = Array.from(svg.matchAll(/<text [^>]*>(.*)<\/text>/g), ([, inner = ""]): Line => {
    const runs = inner.matchAll(/<tspan[^>]*?(?: class="(\w+)")?>([^<]*)<\/tspan>/g);
    return Array.from(
      runs,
      ([, style, text = ""]): Run => ({
        style: (style ?? "plain") as Style,
        text: unescaped(text),
      }),
    );
  });
  return { label, lines };
}

function textElement(line: Line, row: number): string {
  let column = 0;
  const runs = line.map(({ text, style }) => {
    const width = textColumns(text);
    const x = inPixels(column, margin);
    column += width;
    const kind = style === "plain" ? "" : ` class="${style}"`;
    return `<tspan x="${x}" textLength="${inPixels(width)}"${kind}>${escaped(text)}</tspan>`;
  });
  const y = margin + row * lineHeight + baseline;
  return `<text y="${y}" xml:space="preserve">${runs.join("")}</text>`;
}

function inPixels(columns: number, from = 0): string {
  return String(Math.round((from + columns * columnWidth) * 10) / 10);
}

function widthOf(line: Line): number {
  return line.reduce((sum, { text }) => sum + textColumns(text), 0);
}

const signs: readonly (readonly [sign: string, written: string])[] = [
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
];

function escaped(text: string): string {
  return signs.reduce((done, [sign, written]) => done.replaceAll(sign, written), text);
}

function unescaped(text: string): string {
  return signs.reduceRight((done, [sign, written]) => done.replaceAll(written, sign), text);
}
