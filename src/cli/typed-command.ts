// The way the user has called this program, so that a hint can be copied: installed, as a plugin of
// kubectl, or from a checkout.
import { resolve as absolute, basename, delimiter, dirname, relative } from "node:path";
import type { Processes } from "../environment/processes.ts";

type Caller = Pick<Processes, "self" | "variables">;

/** `npx lockstep watch --history`. */
export function typedCommand(caller: Caller, words: string): string {
  if (isNpmStart(caller) && /^up\b/.test(words)) {
    return words.replace(/^up\b/, "npm start").replace(/^npm start (?=\S)/, "$&-- ");
  }
  return `${calledAs(caller)} ${words}`;
}

function calledAs(caller: Caller): string {
  const [, file] = caller.self;
  if (isNpx(caller) || isNpmStart(caller)) return "npx lockstep";
  if (file === undefined) return "lockstep";
  const name = basename(file);
  // kubectl finds its plugins by such names.
  if (name.startsWith("kubectl-")) return name.replace("-", " ");
  const isScript = /\.[cm]?js$/.test(name);
  if (!isScript) return isOnPath(caller, dirname(file)) ? name : quoted(file);
  const below = relative("", file);
  return `node ${quoted(below.startsWith("..") || isFromElsewhere(caller) ? file : below)}`;
}

/** npx started this program, and not another one that started it. */
function isNpx({ variables }: Caller): boolean {
  const script = variables["npm_lifecycle_script"] ?? "";
  return variables["npm_command"] === "exec" && /^\W*lockstep\b/.test(script);
}

/** npx also works in the folder where `npm start` was typed, and above it. */
function isNpmStart(caller: Caller): boolean {
  return caller.variables["npm_lifecycle_event"] === "start" && !isFromElsewhere(caller);
}

/** npm changes to the checkout before it starts a script; the user's shell does not. */
function isFromElsewhere({ variables }: Caller): boolean {
  const typedIn = variables["INIT_CWD"];
  return typedIn !== undefined && relative("", typedIn).startsWith("..");
}

function isOnPath({ variables }: Caller, folder: string): boolean {
  const folders = (variables["PATH"] ?? "").split(delimiter).filter((one) => one !== "");
  return folders.some((one) => absolute(one) === folder);
}

function quoted(path: string): string {
  return /^[\w./@%+:,=-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
