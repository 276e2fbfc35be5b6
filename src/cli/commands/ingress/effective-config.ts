// Which word counts for each setting: the flag's, else the file's, else the default's.
import type { SettingTexts } from "./config-file.ts";
import { type IngressConfig, ingressConfig, ingressSettings } from "./ingress-settings.ts";
import { negated, type Setting } from "./setting.ts";

/** Where a setting comes from, as `--print-config` says it. */
interface Word {
  readonly texts: readonly string[];
  readonly from: "flag" | "file" | "default";
}

export class EffectiveConfig {
  readonly config: IngressConfig;
  readonly #flags: SettingTexts;
  readonly #file: SettingTexts;

  /** Both have been checked. */
  constructor(flags: SettingTexts, file: SettingTexts) {
    this.#flags = flags;
    this.#file = file;
    this.config = ingressConfig((setting) => setting.parse(this.#word(setting).texts));
  }

  /** With another file. */
  withFile(file: SettingTexts): EffectiveConfig {
    return new EffectiveConfig(this.#flags, file);
  }

  /** The settings that differ, and of those the ones that need a restart. */
  changesTo(other: EffectiveConfig): {
    readonly live: readonly string[];
    readonly atRestart: readonly string[];
  } {
    const changed = ingressSettings.filter(
      (setting) => this.#word(setting).texts.join("\n") !== other.#word(setting).texts.join("\n"),
    );
    const fields = (isLive: boolean) =>
      changed.filter((setting) => setting.isLive === isLive).map(({ field }) => field);
    return { live: fields(true), atRestart: fields(false) };
  }

  /** As a config file that says the same, with where each value comes from. */
  toYaml(): string {
    const lines = ingressSettings.map((setting) => {
      const { texts, from } = this.#word(setting);
      const text = `${setting.field}:${yamlValue(setting, texts)}`;
      const origin = from === "flag" ? flagOf(setting, texts) : from;
      return `${text.padEnd(36)} # ${origin}${setting.isLive ? ", live" : ""}`;
    });
    return `${lines.join("\n")}\n`;
  }

  #word({ field, initial }: Setting<unknown>): Word {
    const byFlag = this.#flags.get(field);
    if (byFlag !== undefined) return { texts: byFlag, from: "flag" };
    const inFile = this.#file.get(field);
    return inFile === undefined
      ? { texts: initial, from: "default" }
      : { texts: inFile, from: "file" };
  }
}

function flagOf({ shape, flag }: Setting<unknown>, [text]: readonly string[]): string {
  return shape === "switch" && text === "false" ? negated(flag) : flag;
}

function yamlValue({ shape }: Setting<unknown>, texts: readonly string[]): string {
  if (shape === "list") return ` [${texts.map(yamlText).join(", ")}]`;
  const [text] = texts;
  return text === undefined ? "" : ` ${shape === "switch" ? text : yamlText(text)}`;
}

function yamlText(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : JSON.stringify(text);
}
