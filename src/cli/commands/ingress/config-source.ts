// The config file of a running command: read at the start, where anything wrong in it ends the
// command, and looked at again and again, where anything wrong is said and the old one stays.
import type { Environment } from "../../../environment/environment.ts";
import { FilesError } from "../../../environment/files.ts";
import { UsageError } from "../../command.ts";
import { type ConfigFile, readConfigFile, type SettingTexts } from "./config-file.ts";
import { EffectiveConfig } from "./effective-config.ts";
import { ingressSettings } from "./ingress-settings.ts";

export interface ConfigSourceOptions extends Pick<Environment, "files" | "timers" | "log"> {
  /** Absolute; undefined when there is no file. */
  readonly path: string | undefined;
  /** As the caller named it, for messages. */
  readonly shownPath: string;
}

/** A file is small and local; a person who has saved it wants to see something happen. */
export const lookEveryMs = 1_000;

const noTexts: SettingTexts = new Map();

export class ConfigSource {
  readonly #options: ConfigSourceOptions;
  #current: EffectiveConfig;
  /** As it was last read, right or wrong. */
  #content: string;

  private constructor(options: ConfigSourceOptions, current: EffectiveConfig, content: string) {
    this.#options = options;
    this.#current = current;
    this.#content = content;
  }

  /** Fails with all that is wrong in the file. */
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

  /** Calls back when the file says something else, until the signal aborts. */
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

  /** True when something else holds now. */
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

  /** Undefined while it cannot be read: an editor may be about to put the new one in place. */
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
