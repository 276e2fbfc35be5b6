// Characters as Go counts them: code points, not UTF-16 units and not what a reader sees as one.

export function runes(text: string): readonly string[] {
  return Array.from(text);
}

/** The last one below the printable characters, and the one behind them in ASCII. */
const lastControl = 0x1f;
const deleteCharacter = 0x7f;

/** As no URI may have one. */
export function hasControlCharacter(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code <= lastControl || code === deleteCharacter) return true;
  }
  return false;
}
