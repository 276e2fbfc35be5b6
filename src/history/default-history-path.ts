// Where the history is kept unless a file is named: the folder in which programs of this user keep
// what should survive a restart.
import type { Processes } from "../environment/processes.ts";

/** For help texts. */
export const defaultHistoryPathText = "$XDG_STATE_HOME/lockstep/history.db";

/** Undefined for a user without a home. */
export function defaultHistoryPath({
  variables,
}: Pick<Processes, "variables">): string | undefined {
  const state = variables["XDG_STATE_HOME"];
  // The specification says that a relative path is to be ignored.
  if (state?.startsWith("/") === true) return `${state}/lockstep/history.db`;
  const home = variables["HOME"];
  return home === undefined || home === "" ? undefined : `${home}/.local/state/lockstep/history.db`;
}
