// Words that made texts hard to read: verbs of speech for data, persons for machines. Each has its
// plain replacement. `unclearWords` takes any text for people. `tidyDocument` applies it to a Markdown
// document without code, quotes of output and generated parts. `tidyConfiguration` applies it to the
// comments of Lua and nginx files, and `tidy.ts` to texts, comments and test names of TypeScript.
// `clauseStart` finds sentences of comments that begin with a clause instead of the thing itself.
import type { Breach } from "./tidy.ts";

interface UnclearWord {
  readonly pattern: RegExp;
  readonly reason: string;
}

const person = "a machine is not a person: name the proxy, pod, client or controller, or use";

/** Short on purpose: a word is here only if a plain text never needs it. */
const unclear: readonly UnclearWord[] = [
  {
    pattern: /\btold\b/gi,
    reason: "use 'reported', 'received' or 'known': data is not told",
  },
  {
    pattern: /\b(?:hears|heard|unheard)\b/gi,
    reason: "use 'received' or 'reported': a machine does not hear",
  },
  { pattern: /\b(?:whom|whoever|whomever)\b/gi, reason: `${person} 'the client that …'` },
  { pattern: /\bnobody\b/gi, reason: `${person} 'no source', 'no pod', 'none'` },
  {
    pattern: /\b(?:somebody|anybody|everybody)\b/gi,
    reason: `${person} 'another pod', 'any client'`,
  },
  { pattern: /\banew\b/gi, reason: "use 'again'" },
  { pattern: /\bof\s+its\s+own\s+accord\b/gi, reason: "use 'automatically' or 'without action'" },
];

interface Found {
  readonly offset: number;
  readonly word: string;
  readonly reason: string;
}

/** All of them in a text, in the order of the text. */
export function unclearWords(text: string): readonly Found[] {
  return unclear
    .flatMap(({ pattern, reason }) =>
      Array.from(text.matchAll(pattern), ({ index, 0: word }) => ({ offset: index, word, reason })),
    )
    .sort((a, b) => a.offset - b.offset);
}

/** The first word of a sentence in a comment that has a clause as its subject. */
export function clauseStart(comment: string): string | undefined {
  return /(?:^[\s*]*|[.:;]\s[\s*]*)(What|Whatever|Whichever|Who|Whose)\b(?![^.]*\?)/.exec(
    comment,
  )?.[1];
}

export const clauseReason = "begin with the thing itself: 'The answer of …', 'Entries that …'";

/** Written by programs as a whole, or a record of the past. */
const exempt = new Set(["CHANGELOG.md", "docs/fidelity.md", "docs/figures.md"]);

/** Generated parts, blocks of code, code in a line, and the targets of links. */
const quoted = [
  /^<!-- (?!end -->).+ -->\n[\s\S]*?^<!-- end -->$/gm,
  /^ *```[\s\S]*?^ *```$/gm,
  /`[^`\n]+`/g,
  /\]\([^)\s]*\)/g,
];

/** Checks one Markdown document; `path` is relative to the repository, with forward slashes. */
export function tidyDocument(path: string, document: string): readonly Breach[] {
  if (exempt.has(path)) return [];
  const prose = quoted.reduce((text, pattern) => text.replace(pattern, blank), document);
  return unclearWords(prose).map(({ offset, word, reason }) => ({
    file: path,
    line: prose.slice(0, offset).split("\n").length,
    problem: `the word "${word.replace(/\s+/g, " ")}"`,
    reason,
  }));
}

/** Checks the comments of a Lua or nginx file. */
export function tidyConfiguration(path: string, source: string): readonly Breach[] {
  const comment = path.endsWith(".lua") ? /--(.*)$/ : /#(.*)$/;
  return source.split("\n").flatMap((line, index) => {
    const text = withoutCode(comment.exec(line)?.[1] ?? "");
    const at = { file: path, line: index + 1 };
    const start = clauseStart(text);
    return [
      ...unclearWords(text).map(({ word, reason }) => ({
        ...at,
        problem: `the word "${word}" in a comment`,
        reason,
      })),
      ...(start === undefined
        ? []
        : [
            {
              ...at,
              problem: `a sentence of a comment that begins with "${start}"`,
              reason: clauseReason,
            },
          ]),
    ];
  });
}

/** Blanks code in backquotes: a word there is a name. */
export function withoutCode(text: string): string {
  return text.replace(/`[^`\n]+`/g, blank);
}

/** As long as the quote, so that lines and offsets stay. */
function blank(quote: string): string {
  return quote.replace(/[^\n]/g, " ");
}
