// Literals of texts and bytes: in one or three quotes of either sort, raw or with escapes.
import { CelSyntaxError } from "./syntax.ts";
import type { Value } from "./values.ts";

const startPattern = /([rR]?[bB]?|[bB][rR])("""|'''|"|')/y;

/** Undefined when no text or bytes begin there. */
export function readString(source: string, at: number): { value: Value; end: number } | undefined {
  startPattern.lastIndex = at;
  const start = startPattern.exec(source);
  if (start === null) return undefined;
  const [opening, prefix = "", quote = ""] = start;
  const isRaw = /r/i.test(prefix);
  const isBytes = /b/i.test(prefix);
  const from = at + opening.length;
  const to = findEnd(source, from, quote, isRaw);
  if (to === undefined) {
    const message = `Syntax error: token recognition error at: '${source.slice(at)}'`;
    throw new CelSyntaxError({ at, message });
  }
  const body = source.slice(from, to).replaceAll("\r\n", "\n");
  const end = to + quote.length;
  if (isBytes) return { value: isRaw ? Buffer.from(body, "utf8") : unescapeBytes(body, at), end };
  return { value: isRaw ? body : unescapeText(body, at), end };
}

function findEnd(source: string, from: number, quote: string, isRaw: boolean): number | undefined {
  const isLong = quote.length === 3;
  for (let i = from; i < source.length; i++) {
    if (source.startsWith(quote, i)) return i;
    if (source[i] === "\\" && !isRaw) i += 1;
    else if (source[i] === "\n" && !isLong) return undefined;
  }
  return undefined;
}

const simpleEscapes: Readonly<Record<string, string>> = {
  a: "\u0007",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
  "?": "?",
  '"': '"',
  "'": "'",
  "`": "`",
};

const escapePattern =
  /\\(?:x([0-9a-fA-F]{2})|X([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.|$))/gsu;

function unescapeText(body: string, at: number): string {
  return body.replace(escapePattern, (whole, x, bigX, u, bigU, octal, simple) =>
    textOf({ hex: x ?? bigX ?? u ?? bigU, octal, simple }, whole, at),
  );
}

interface Escape {
  readonly hex: string | undefined;
  readonly octal: string | undefined;
  readonly simple: string | undefined;
}

function textOf({ hex, octal, simple }: Escape, whole: string, at: number): string {
  const code = hex === undefined ? octal && Number.parseInt(octal, 8) : Number.parseInt(hex, 16);
  if (typeof code === "number") {
    if (code > 0x10_ffff || (code >= 0xd800 && code < 0xe000)) throw badEscape(whole, at);
    return String.fromCodePoint(code);
  }
  const text = simpleEscapes[simple ?? ""];
  if (text === undefined) throw badEscape(whole, at);
  return text;
}

/** In bytes `\x` and octal escapes are bytes, not characters. */
function unescapeBytes(body: string, at: number): Uint8Array {
  const pieces: Uint8Array[] = [];
  let from = 0;
  for (const match of body.matchAll(escapePattern)) {
    const [whole, x, bigX, u, bigU, octal, simple] = match;
    pieces.push(Buffer.from(body.slice(from, match.index), "utf8"));
    const byte = x ?? bigX;
    if (byte !== undefined) pieces.push(Buffer.from([Number.parseInt(byte, 16)]));
    else if (octal !== undefined) pieces.push(Buffer.from([Number.parseInt(octal, 8)]));
    else pieces.push(Buffer.from(textOf({ hex: u ?? bigU, octal, simple }, whole, at), "utf8"));
    from = match.index + whole.length;
  }
  pieces.push(Buffer.from(body.slice(from), "utf8"));
  return Buffer.concat(pieces);
}

function badEscape(text: string, at: number): CelSyntaxError {
  return new CelSyntaxError({ at, message: `unable to unescape string: ${text}` });
}
