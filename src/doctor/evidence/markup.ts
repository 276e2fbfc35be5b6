// Text as pages and chats show it, back to what a program wrote: character references, links, tags and
// typographic quotes. Several lines that a page has joined into one are taken apart.

const anyMarkup =
  /&(?:quot|amp|lt|gt|apos|nbsp|#\d{1,5}|#x[\da-f]{1,4});|[\u00a0\u200b\ufeff\u201c\u201d]|\]\(http|\*\*|^\s*<|<\//i;

const named: Readonly<Record<string, string>> = {
  quot: '"',
  amp: "&",
  lt: "<",
  gt: ">",
  apos: "'",
  nbsp: " ",
};

/** The tags that pages put around code; others, as `<nil>`, belong to the text. */
const tag =
  /<\/?(?:span|code|pre|p|br|div|li|td|tr|font|b|em|strong|summary|details)(?:\s[^<>]{0,200})?\/?>/gi;

const link = /\[([^[\]\s]{1,2048})\]\(https?:[^()\s]{1,2048}\)/g;

/** People mark the word that matters. */
const bold = /\*\*([\w.:/-]{1,253})\*\*/g;

/** Without all of these a text has none; this is asked of many lines, and the pattern is slow. */
const marks = ["&", "](http", "</", "\u00a0", "\u200b", "\ufeff", "\u201c", "\u201d", "**"];

export function withoutMarkup(text: string): string {
  const mayHaveMarkup =
    text.trimStart().startsWith("<") || marks.some((mark) => text.includes(mark));
  if (!mayHaveMarkup || !anyMarkup.test(text)) return text;
  return text
    .replaceAll(tag, "")
    .replaceAll(link, "$1")
    .replaceAll(bold, "$1")
    .replaceAll(/&(?:(\w{2,4})|#(\d{1,5})|#x([\da-f]{1,4}));/gi, reference)
    .replaceAll("\u00a0", " ")
    .replaceAll(/[\u200b\ufeff]/g, "")
    .replaceAll(/[\u201c\u201d]/g, '"');
}

function reference(whole: string, name?: string, decimal?: string, hex?: string): string {
  if (name !== undefined) return named[name.toLowerCase()] ?? whole;
  const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
  return code >= 32 && code <= 0xffff ? String.fromCharCode(code) : " ";
}

/** Where another line of klog or of nginx's error log begins; a written line end may stand before it. */
const joint =
  /(?:\\n|\s)(?=[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{1,9} {1,8}\d{1,9} [\w-]{1,80}\.go:|\d{4}\/\d\d\/\d\d \d\d:\d\d:\d\d \[\w{1,9}\] \d)/;

/** A layer around one line stands before its only header. */
const headerPart = /\.go:\d|\] \d{1,9}#\d/g;

export function joinedLines(text: string): readonly string[] | undefined {
  headerPart.lastIndex = 0;
  if (!headerPart.test(text) || !headerPart.test(text)) return undefined;
  const parts = text.split(joint).filter((part) => part !== "");
  return parts.length > 1 ? parts : undefined;
}
