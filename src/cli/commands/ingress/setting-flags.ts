// The settings as flags of a command: each is checked as it is read, and what was given comes back
// as texts. A switch has its negation, so that a flag can also take back what the config file says.
import { type Command, InvalidArgumentError, Option } from "commander";
import type { SettingTexts } from "./config-file.ts";
import { negated, type Setting, SettingError } from "./setting.ts";

export function addSettingFlags(command: Command, settings: readonly Setting<unknown>[]): Command {
  for (const setting of settings) {
    for (const flag of [setting.flag, ...setting.aliases]) {
      const isHidden = flag !== setting.flag;
      for (const option of optionsOf(setting, flag)) {
        command.addOption(isHidden ? option.hideHelp() : option);
      }
    }
  }
  return command;
}

/** What the command line said, once it has been parsed. */
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
  try {
    setting.parse([text]);
    return text;
  } catch (error) {
    if (error instanceof SettingError) throw new InvalidArgumentError(error.message);
    throw error;
  }
}

/** As commander keeps it: `--http-port` is `httpPort`. */
function attributeOf(flag: string): string {
  return flag.slice(2).replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
