// A setting of `lockstep ingress`: a flag and a field of the config file with one meaning, one reader
// and one default. Both are texts that the same reader checks, so a wrong value gets the same message.
import { type Command, Option } from "commander";
import { type Read, refuse } from "../../flags.ts";
import type { SettingTexts } from "./config.ts";

/** `switch` is true or false; `list` may be repeated, or be a list in the file. */
type SettingShape = "one" | "switch" | "list";

export interface Setting<Value> {
  /** Name in the config file. */
  readonly field: string;
  /** With two dashes. */
  readonly flag: string;
  /** Other names of the flag. */
  readonly aliases: readonly string[];
  /** In the help, `<port>`; empty for a switch. */
  readonly argument: string;
  readonly help: string;
  /** Help of the flag that turns a switch off, `--no-…`. */
  readonly helpWhenOff: string;
  readonly shape: SettingShape;
  /** Takes effect when the file changes, without a restart. */
  readonly isLive: boolean;
  /** The default; empty when there is none. */
  readonly initial: readonly string[];
  /** Throws `InvalidArgumentError`. */
  parse(texts: readonly string[]): Value;
}

interface SettingOptions {
  readonly argument?: string;
  readonly help: string;
  readonly aliases?: readonly string[];
  readonly isLive?: boolean;
}

/** A switch that is on by default says what turning it off means. */
interface SwitchOptions extends SettingOptions {
  readonly helpWhenOff?: string;
}

/** A value with a default. */
export function one<Value>(
  name: SettingName,
  parse: Read<Value>,
  initial: string,
  options: SettingOptions,
): Setting<Value> {
  const last = (texts: readonly string[]) => parse(texts.at(-1) ?? initial);
  return { ...basics(name, options), shape: "one", initial: [initial], parse: last };
}

/** A value that may be absent. */
export function optional<Value>(
  name: SettingName,
  parse: Read<Value>,
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
  parse: Read<Value>,
  options: SettingOptions & { readonly initial?: readonly string[] },
): Setting<readonly Value[]> {
  const { initial = [] } = options;
  return {
    ...basics(name, options),
    shape: "list",
    initial,
    // An empty list means the default.
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
      if (last !== "true" && last !== "false") return refuse("It must be true or false.");
      return last === "true";
    },
  };
}

/** The field; and the flag where it is not the field with dashes. */
type SettingName = string | { readonly field: string; readonly flag: string };

function basics(name: SettingName, options: SettingOptions) {
  const { argument = "<value>", help, aliases = [], isLive = false } = options;
  const field = typeof name === "string" ? name : name.field;
  const flag = typeof name === "string" ? `--${dashed(name)}` : name.flag;
  return { field, flag, aliases, argument, help, helpWhenOff: "", isLive };
}

/** The flag that turns a switch off. */
export function negated(flag: string): string {
  return flag.replace("--", "--no-");
}

function dashed(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Each value is checked when it is parsed. A switch gets its negation, which overrides the config file. */
export function addSettingFlags(
  command: Command,
  settings: readonly Setting<unknown>[],
  /** The heading of a group in the help, by its first field. */
  groups: Readonly<Record<string, string>> = {},
): Command {
  for (const setting of settings) {
    const group = groups[setting.field];
    if (group !== undefined) command.optionsGroup(group);
    for (const flag of [setting.flag, ...setting.aliases]) {
      const isHidden = flag !== setting.flag;
      for (const option of optionsOf(setting, flag)) {
        command.addOption(isHidden ? option.hideHelp() : option);
      }
    }
  }
  return command;
}

/** The texts of the flags that were given. */
export function flagTexts(command: Command, settings: readonly Setting<unknown>[]): SettingTexts {
  const given: Readonly<Record<string, unknown>> = command.opts();
  const texts = new Map<string, readonly string[]>();
  for (const { field, flag, aliases } of settings) {
    const value = [flag, ...aliases]
      .map((one) => given[attributeOf(one)])
      .find((one) => one !== undefined);
    if (typeof value === "boolean") texts.set(field, [String(value)]);
    else if (Array.isArray(value)) texts.set(field, value.map(String));
  }
  return texts;
}

function optionsOf(setting: Setting<unknown>, flag: string): readonly Option[] {
  const { shape, argument, help, helpWhenOff, initial } = setting;
  if (shape === "switch") {
    const on = new Option(flag, help);
    const off = new Option(negated(flag), helpWhenOff);
    const isOn = initial[0] === "true";
    return [on.hideHelp(isOn), off.hideHelp(!isOn)];
  }
  const known = initial.length === 0 ? "" : ` (default: ${initial.join(", ")})`;
  const option = new Option(`${flag} ${argument}`, `${help}${known}`);
  return [
    option.argParser<readonly string[]>((text, before) => [
      ...(before ?? []),
      checked(setting, text),
    ]),
  ];
}

function checked(setting: Setting<unknown>, text: string): string {
  setting.parse([text]);
  return text;
}

/** The name that commander uses: `--http-port` is `httpPort`. */
function attributeOf(flag: string): string {
  return flag.slice(2).replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
