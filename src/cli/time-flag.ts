// A flag that takes a length of time, as settings have them: `500ms`, `2s`, `1h`.
import { InvalidArgumentError } from "commander";
import { SettingError } from "./commands/ingress/setting.ts";
import { duration } from "./commands/ingress/setting-values.ts";

/** What reads it, in milliseconds; refuses what is longer. */
export function timeFlag(mostMs: number): (text: string) => number {
  const parse = duration(mostMs);
  return (text) => {
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof SettingError)) throw error;
      throw new InvalidArgumentError(error.message);
    }
  };
}
