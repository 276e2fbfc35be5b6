// A part of a Markdown document that is made by a program, between `<!-- NAME -->` and `<!-- end -->`.
// Pure.

const end = "<!-- end -->\n";

/** The document with this part replaced; undefined when it has no such part. */
export function withPart(document: string, name: string, text: string): string | undefined {
  const from = `<!-- ${name} -->\n`;
  const start = document.indexOf(from);
  if (start < 0) return undefined;
  const begin = start + from.length;
  const stop = document.indexOf(end, begin);
  if (stop < 0) throw new Error(`the part <!-- ${name} --> does not end`);
  return document.slice(0, begin) + text + document.slice(stop);
}

/** A new part, to be put behind what there is. */
export function newPart(name: string, text: string): string {
  return `<!-- ${name} -->\n${text}${end}`;
}

/** The names of all parts that the document has. */
export function partNames(document: string): readonly string[] {
  return Array.from(document.matchAll(/^<!-- (.+) -->$/gm), ([, name = ""]) => name).filter(
    (name) => name !== "end",
  );
}

/** Languages of input: what a person types or saves. A `text` is a drawing. */
const typedLanguages = new Set(["sh", "yaml", "promql", "text"]);

/** Lines at which an output begins outside of all marked parts, so that a person typed it. */
export function typedOutputs(document: string): readonly number[] {
  const found: number[] = [];
  let isMarked = false;
  let isCode = false;
  for (const [index, line] of document.split("\n").entries()) {
    const fence = /^ *```(\w*)/.exec(line);
    if (fence !== null) {
      isCode = !isCode;
      if (isCode && !isMarked && !typedLanguages.has(fence[1] ?? "")) found.push(index + 1);
    } else if (!isCode && /^<!-- .+ -->$/.test(line)) {
      isMarked = line !== end.trimEnd();
    }
  }
  return found;
}

/** Text as it is, in a fixed-width font. */
export function asCode(text: string): string {
  return `\`\`\`\n${text.trimEnd()}\n\`\`\`\n`;
}
