// The lockstep command lines that documents show: those of code blocks, and those in a sentence. Pure.

export interface ShownCommand {
  /** `docs/page.md:12`. */
  readonly place: string;
  /** What follows `lockstep`. */
  readonly args: readonly string[];
  /** In a sentence a command may be named without all of its arguments. */
  readonly isWhole: boolean;
}

/** `npx lockstep`, `kubectl lockstep` and `node bin/lockstep.mjs` are the same program. */
const program =
  /(?:^|[|&;(]\s*)(?:[A-Z_]+=\S+\s+)*(?:sudo |exec )?(?:(?:npx|kubectl) lockstep|node bin\/lockstep\.mjs|lockstep)(?=\s|$)/g;

export function shownCommands(path: string, document: string): readonly ShownCommand[] {
  const found: ShownCommand[] = [];
  let fence: string | undefined;
  const lines = document.split("\n");
  for (const [index, line] of lines.entries()) {
    const place = `${path}:${index + 1}`;
    const mark = /^\s*```(\w*)/.exec(line);
    if (mark !== null) {
      fence = fence === undefined ? (mark[1] ?? "") : undefined;
    } else if (fence === "sh") {
      // A line that continues another one was read with it.
      if (lines[index - 1]?.endsWith("\\")) continue;
      found.push(...commandsIn(continued(lines, index), place, true));
    } else if (fence === undefined) {
      for (const [, code = ""] of line.matchAll(/`([^`]+)`/g)) {
        found.push(...commandsIn(code, place, false));
      }
    }
  }
  return found.filter(({ args }) => args.length > 0);
}

function continued(lines: readonly string[], start: number): string {
  let text = "";
  for (let index = start; index < lines.length; index += 1) {
    const line = lines[index] ?? "";
    if (!line.endsWith("\\")) return text + line;
    text += `${line.slice(0, -1)} `;
  }
  return text;
}

function commandsIn(text: string, place: string, isWhole: boolean): readonly ShownCommand[] {
  return [...text.trim().matchAll(program)].map((match) => ({
    place,
    args: words(text.trim().slice(match.index + match[0].length)),
    isWhole,
  }));
}

/** Words of a shell, up to the end of the command or a comment. */
function words(text: string): readonly string[] {
  const found: string[] = [];
  const word = /\s*(?:(#.*|[|&;<>)].*)|((?:'[^']*'|"[^"]*"|\\.|[^\s'"|&;<>)])+))/y;
  for (;;) {
    const match = word.exec(text);
    if (match?.[2] === undefined) return found;
    found.push(match[2].replaceAll(/'([^']*)'|"([^"]*)"|\\(.)/g, "$1$2$3"));
  }
}
