// The folder that nginx runs in unless --prefix gives one. Where root starts nginx its workers are another
// user, who opens logs, temporary files and Lua by their paths and may not enter root's home.
import { resolve as absolute } from "node:path";
import type { Processes } from "../../../environment/processes.ts";
import { UsageError } from "../../command.ts";
import type { IngressConfig } from "./ingress-settings.ts";

export function nginxFolder(
  { isRoot, variables }: Pick<Processes, "isRoot" | "variables">,
  { prefix, httpPort }: Pick<IngressConfig, "prefix" | "httpPort">,
): string {
  if (prefix !== undefined) return absolute(prefix);
  if (isRoot) return `/var/lib/lockstep/ingress-${httpPort}`;
  const home = variables["HOME"] ?? "";
  if (home === "") {
    throw new UsageError("HOME is not set: give a folder for nginx with --prefix");
  }
  return `${home}/.lockstep/ingress-${httpPort}`;
}
