// The config file of `lockstep ingress`, a YAML file with a field for every flag, and the settings
// that result from flags, file and defaults. A wrong file ends the command at the start; later it
// is reported and the previous settings stay.

import { InvalidArgumentError } from "commander";
import { isMap, isNode, isScalar, isSeq, LineCounter, type Node, parseDocument } from "yaml";
import { nearestNames } from "../../../decide/nearest-names.ts";
import type { Environment } from "../../../environment/environment.ts";
import { FilesError } from "../../../environment/files.ts";
import { UsageError } from "../../command.ts";
import { negated, type Setting } from "./setting.ts";
import { type IngressConfig, ingressConfig, ingressSettings } from "./settings.ts";

interface ConfigSourceOptions extends Pick<Environment, "files" | "timers" | "log"> {
  /** Absolute; undefined when there is no file. */
  readonly path: string | undefined;
  /** As given in the flag, for messages. */
  readonly shownPath: string;
}

/** A user who saved the file expects a reaction within a second. */
export const lookEveryMs = 1_000;

const noTexts: SettingTexts = new Map();

export class ConfigSource {
  readonly #options: ConfigSourceOptions;
  #current: EffectiveConfig;
  /** The last content, also if it was wrong. */
  #content: string;

  private constructor(options: ConfigSourceOptions, current: EffectiveConfig, content: string) {
    this.#options = options;
    this.#current = current;
    this.#content = content;
  }

  /** Fails with all problems of the file. */
  static async open(flags: SettingTexts, options: ConfigSourceOptions): Promise<ConfigSource> {
    const { path, shownPath } = options;
    if (path === undefined) {
      return new ConfigSource(options, new EffectiveConfig(flags, noTexts), "");
    }
    const content = await contentOf(options, path);
    if (content === undefined) throw new UsageError(`the config file ${shownPath} does not exist`);
    const file = readConfigFile(shownPath, content, ingressSettings);
    if (file.kind === "wrong") throw new UsageError(problemText(file));
    return new ConfigSource(options, new EffectiveConfig(flags, file.texts), content);
  }

  get current(): EffectiveConfig {
    return this.#current;
  }

  /** Calls back when a setting changed, until the signal aborts. */
  async follow(onChange: (now: EffectiveConfig) => void, signal: AbortSignal): Promise<void> {
    const { path, timers } = this.#options;
    if (path === undefined) return;
    try {
      while (!signal.aborted) {
        await timers.sleep(lookEveryMs, signal);
        if (await this.#look(path)) onChange(this.#current);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** True when a live setting changed. */
  async #look(path: string): Promise<boolean> {
    const { log, shownPath } = this.#options;
    const content = await this.#readAgain(path);
    if (content === undefined || content === this.#content) return false;
    this.#content = content;
    const file = readConfigFile(shownPath, content, ingressSettings);
    if (file.kind === "wrong") {
      log.error("the changed config file is invalid; the previous settings stay in use", {
        problems: file.problems,
      });
      return false;
    }
    const next = this.#current.withFile(file.texts);
    const { live, atRestart } = this.#current.changesTo(next);
    if (live.length + atRestart.length === 0) return false;
    if (live.length > 0) log.info("the config file changed", { fields: live });
    if (atRestart.length > 0) {
      log.warn("the config file changed in fields that need a restart", {
        fields: atRestart,
      });
    }
    this.#current = next;
    return live.length > 0;
  }

  /** Undefined while unreadable: an editor may be replacing the file. */
  async #readAgain(path: string): Promise<string | undefined> {
    try {
      return await contentOf(this.#options, path);
    } catch (error) {
      if (!(error instanceof FilesError)) throw error;
      this.#options.log.debug("cannot read the config file", { reason: error.message });
      return undefined;
    }
  }
}

async function contentOf(
  { files }: ConfigSourceOptions,
  path: string,
): Promise<string | undefined> {
  const content = await files.read(path);
  return content === undefined ? undefined : Buffer.from(content).toString("utf8");
}

function problemText({ problems }: Extract<ConfigFile, { kind: "wrong" }>): string {
  return `the config file is invalid:\n${problems.map((one) => `  ${one}`).join("\n")}`;
}

// Every unknown field and wrong value is a problem with its line, column and correction; all
// problems are reported together.

/** The texts of each field that is set. */
export type SettingTexts = ReadonlyMap<string, readonly string[]>;

type ConfigFile =
  | { readonly kind: "read"; readonly texts: SettingTexts }
  /** Each with file, line and column. */
  | { readonly kind: "wrong"; readonly problems: readonly string[] };

export function readConfigFile(
  file: string,
  text: string,
  settings: readonly Setting<unknown>[],
): ConfigFile {
  const lines = new LineCounter();
  const { contents, errors, warnings } = parseDocument(text, { lineCounter: lines });
  const problems: string[] = [];
  const report = (offset: number, message: string): void => {
    const { line, col } = lines.linePos(offset);
    problems.push(`${file}:${line}:${col}: ${message}`);
  };
  for (const { pos, message } of [...errors, ...warnings]) report(pos[0], firstLine(message));
  if (problems.length > 0) return { kind: "wrong", problems };
  const texts = new Map<string, readonly string[]>();
  if (contents === null || isNothing(contents)) return { kind: "read", texts };
  if (!isMap(contents)) report(0, "the file must contain fields, such as class: web");
  for (const { key, value } of isMap(contents) ? contents.items : []) {
    const field = isScalar(key) ? String(key.value) : "";
    const setting = settings.find((one) => one.field === field);
    if (setting === undefined) {
      report(isNode(key) ? (key.range?.[0] ?? 0) : 0, unknownField(field, settings));
      continue;
    }
    // A field without a value has its default.
    if (!isNode(value) || isNothing(value)) continue;
    const read = readField(setting, value);
    if ("problem" in read) report(value.range?.[0] ?? 0, read.problem);
    else texts.set(field, read.texts);
  }
  return problems.length > 0 ? { kind: "wrong", problems } : { kind: "read", texts };
}

function readField(
  setting: Setting<unknown>,
  node: Node,
): { readonly texts: readonly string[] } | { readonly problem: string } {
  const { field } = setting;
  const texts = textsOf(node, setting);
  if (typeof texts === "string") return { problem: `${field}: ${texts}` };
  try {
    setting.parse(texts);
    return { texts };
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    const shown = texts.map((value) => JSON.stringify(value)).join(", ");
    return { problem: `${field} cannot be ${shown}. ${error.message}` };
  }
}

/** Without the excerpt, because file, line and column are printed. */
function firstLine(message: string): string {
  return (message.split("\n")[0] ?? message).replace(/ at line \d+, column \d+:?$/, "");
}

/** The texts, or the problem with their form. */
function textsOf(node: Node, { shape }: Setting<unknown>): readonly string[] | string {
  if (isScalar(node)) {
    if (shape === "switch" && typeof node.value !== "boolean") return "it must be true or false.";
    return [scalarText(node)];
  }
  if (shape !== "list") return "it must be a single value.";
  if (!isSeq(node) || !node.items.every((item) => isScalar(item))) {
    return "it must be a list of single values.";
  }
  return node.items.filter((item) => isScalar(item)).map(scalarText);
}

/** The source text: 1.10 must not become 1.1. */
function scalarText(node: { readonly source?: string; readonly value?: unknown }): string {
  return node.source ?? String(node.value);
}

function isNothing(node: unknown): boolean {
  return isScalar(node) && node.value === null;
}

function unknownField(field: string, settings: readonly Setting<unknown>[]): string {
  const fields = settings.map((one) => one.field);
  const byFlag = settings.find(({ flag, aliases }) =>
    [flag, ...aliases].some((one) => one === field || one === `--${field}`),
  );
  const nearest = byFlag?.field ?? nearestNames(field, fields)[0];
  const meant = nearest === undefined ? "" : `; did you mean "${nearest}"?`;
  return `there is no field "${field}"${meant === "" ? `; there are ${fields.join(", ")}` : meant}`;
}

// The value of each setting: from the flag, else the file, else the default.

/** The source of a setting, for `--print-config`. */
interface Word {
  readonly texts: readonly string[];
  readonly from: "flag" | "file" | "default";
}

export class EffectiveConfig {
  readonly config: IngressConfig;
  readonly #flags: SettingTexts;
  readonly #file: SettingTexts;

  /** The texts must have been checked. */
  constructor(flags: SettingTexts, file: SettingTexts) {
    this.#flags = flags;
    this.#file = file;
    this.config = ingressConfig((setting) => setting.parse(this.#word(setting).texts));
  }

  withFile(file: SettingTexts): EffectiveConfig {
    return new EffectiveConfig(this.#flags, file);
  }

  /** The settings that differ, separated by whether they need a restart. */
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

  /** A config file with the same settings and the source of each value. */
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
