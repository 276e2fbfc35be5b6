// Runs one command of Lockstep on this machine, as `npx lockstep …` in a terminal, and keeps its screen.
import { relative, resolve } from "node:path";
import { runProgram } from "../../src/cli/program.ts";
import type { Files } from "../../src/environment/files.ts";
import { nodeEnvironment } from "../../src/environment/node/node-environment.ts";
import { DocsTerminal, type Line, textOf } from "./docs-terminal.ts";

export interface RunOptions {
  /** Stands for the current folder where files are read. */
  readonly folder?: string;
}

/** So that the commands that it names are those that a reader types. */
const asNpx = { npm_command: "exec", npm_lifecycle_script: "lockstep" };

export async function runCommand(
  args: readonly string[],
  { folder = "" }: RunOptions = {},
): Promise<readonly Line[]> {
  const node = nodeEnvironment();
  const processes = { ...node.processes, variables: { ...process.env, ...asNpx } };
  const environment = { ...node, processes, files: readFrom(folder, node.files) };
  const terminal = new DocsTerminal({ columns: 80, showsErrors: false });
  const { signal: stop } = new AbortController();
  const code = await runProgram({ environment, terminal, stop }, "", args);
  const lines = terminal.lines();
  if (code !== 0) {
    const what = `lockstep ${args.join(" ")} ended with exit code ${code}`;
    throw new Error(`${what}, so nothing is written; its output:\n${textOf(lines)}`);
  }
  return lines;
}

function readFrom(folder: string, files: Files): Files {
  const at = (path: string): string => resolve(folder, relative("", path));
  return {
    ...files,
    read: (path) => files.read(at(path)),
    open: (path) => files.open(at(path)),
    size: (path) => files.size(at(path)),
    kind: (path) => files.kind(at(path)),
  };
}
