// One setting of a command: a flag and a field of the config file with one meaning, one check and
// one default. Both give texts, and the same parser reads them, so what is wrong is said in the same
// words wherever it was written.

/** A value that cannot be: the message says what would be right. */
export class SettingError extends Error {
  override readonly name = "SettingError";
}

/** `switch` is true or false; `list` may be given several times, or as a list in the file. */
export type SettingShape = "one" | "switch" | "list";

export interface Setting<Value> {
  /** In the config file. */
  readonly field: string;
  /** With its two dashes. */
  readonly flag: string;
  /** Other flags that mean the same. */
  readonly aliases: readonly string[];
  /** As help shows it, `<port>`; empty for a switch. */
  readonly argument: string;
  readonly help: string;
  /** Of the flag that takes a switch back, `--no-…`. */
  readonly helpWhenOff: string;
  readonly shape: SettingShape;
  /** Takes effect when the file changes, without a restart. */
  readonly isLive: boolean;
  /** What it is when nobody says; empty for nothing. */
  readonly initial: readonly string[];
  /** Throws a `SettingError`. */
  parse(texts: readonly string[]): Value;
}

export interface SettingOptions {
  readonly argument?: string;
  readonly help: string;
  readonly aliases?: readonly string[];
  readonly isLive?: boolean;
}

/** A switch that is on unless it is taken back says what that means. */
export interface SwitchOptions extends SettingOptions {
  readonly helpWhenOff?: string;
}

type Parse<Value> = (text: string) => Value;

/** A value with a default. */
export function one<Value>(
  name: SettingName,
  parse: Parse<Value>,
  initial: string,
  options: SettingOptions,
): Setting<Value> {
  const last = (texts: readonly string[]) => parse(texts.at(-1) ?? initial);
  return { ...basics(name, options), shape: "one", initial: [initial], parse: last };
}

/** A value that may be absent. */
export function optional<Value>(
  name: SettingName,
  parse: Parse<Value>,
  options: SettingOptions,
): Setting<Value | undefined> {
  return {
    ...basics(name, options),
    shape: "one",
    initial: [],
    parse: (texts) => {
      const last = texts.at(-1);
      return last === undefined ? undefined : parse(last);
    },
  };
}

export function list<Value>(
  name: SettingName,
  parse: Parse<Value>,
  options: SettingOptions & { readonly initial?: readonly string[] },
): Setting<readonly Value[]> {
  const { initial = [] } = options;
  return {
    ...basics(name, options),
    shape: "list",
    initial,
    // An empty list says nothing.
    parse: (texts) => (texts.length === 0 ? initial : texts).map((text) => parse(text)),
  };
}

export function onOff(
  name: SettingName,
  initial: boolean,
  options: SwitchOptions,
): Setting<boolean> {
  return {
    ...basics(name, options),
    helpWhenOff: options.helpWhenOff ?? `not: ${options.help}`,
    argument: "",
    shape: "switch",
    initial: [String(initial)],
    parse: (texts) => {
      const last = texts.at(-1) ?? String(initial);
      if (last !== "true" && last !== "false") throw new SettingError("It must be true or false.");
      return last === "true";
    },
  };
}

/** The field, and the flag when it is not the same word with dashes. */
export type SettingName = string | { readonly field: string; readonly flag: string };

function basics(name: SettingName, options: SettingOptions) {
  const { argument = "<value>", help, aliases = [], isLive = false } = options;
  const field = typeof name === "string" ? name : name.field;
  const flag = typeof name === "string" ? `--${dashed(name)}` : name.flag;
  return { field, flag, aliases, argument, help, helpWhenOff: "", isLive };
}

/** The flag that takes a switch back. */
export function negated(flag: string): string {
  return flag.replace("--", "--no-");
}

function dashed(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
