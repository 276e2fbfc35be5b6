// The completion scripts. Each one finds the command that was typed so far, then offers its words. All
// texts are quoted, so none of them is run by the shell.
import type { CompletedCommand, CompletedFlag, CompletedWord } from "./completion-tree.ts";

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

export function scriptFor(shell: Shell, tree: readonly CompletedCommand[]): string {
  switch (shell) {
    case "bash":
      return bashScript(tree);
    case "zsh":
      return zshScript(tree);
    case "fish":
      return fishScript(tree);
  }
}

/** Without a suggestion of its own, bash completes file names. */
function bashScript(tree: readonly CompletedCommand[]): string {
  const words = tree.map(({ path, commands, flags }) => {
    const all = [...commands, ...flags].map(({ word }) => word).join(" ");
    return `    ${quoted(path)}) words=${quoted(all)} ;;`;
  });
  return `# Completes lockstep in bash. Made by: lockstep completion bash
_lockstep() {
  local word path="" words="" current="\${COMP_WORDS[COMP_CWORD]}"
  local before="\${COMP_WORDS[COMP_CWORD-1]}"
  COMPREPLY=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path $word" in
${pathCases(tree)}
    esac
  done
  case "$path $before" in
${valueCases(tree, ({ choices }) => `COMPREPLY=($(compgen -W ${quoted(choices.join(" "))} -- "$current")); return`, "return")}
  esac
  case "$path" in
${words.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _lockstep lockstep
`;
}

function zshScript(tree: readonly CompletedCommand[]): string {
  const described = (word: CompletedWord) =>
    quoted(`${word.word}:${word.description.replaceAll(":", "\\:")}`);
  const cases = tree.map(({ path, commands, flags }) => {
    const names = commands.map(described).join(" ");
    return `    ${quoted(path)})
      commands=(${names})
      flags=(${flags.map(described).join(" ")}) ;;`;
  });
  return `#compdef lockstep
# Completes lockstep in zsh. Made by: lockstep completion zsh
_lockstep() {
  local word typed=""
  local -a commands flags
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$typed $word" in
${pathCases(tree, "typed")}
    esac
  done
  case "$typed \${words[CURRENT-1]}" in
${valueCases(tree, ({ choices }) => `compadd -- ${choices.map(quoted).join(" ")}; return`, "_files; return")}
  esac
  case "$typed" in
${cases.join("\n")}
  esac
  if [[ "\${words[CURRENT]}" == -* ]]; then
    _describe -o flag flags
  elif (( \${#commands} )); then
    _describe command commands
  else
    _files
  fi
}
if [ "\${funcstack[1]}" = "_lockstep" ]; then
  _lockstep "$@"
else
  compdef _lockstep lockstep
fi
`;
}

function fishScript(tree: readonly CompletedCommand[]): string {
  const lines = tree.flatMap(({ path, commands, flags }) => {
    const at = `complete -c lockstep -n ${fishQuoted(`__lockstep_at ${fishQuoted(path)}`)}`;
    return [
      ...commands.map(
        ({ word, description }) => `${at} -f -a ${fishQuoted(word)} -d ${fishQuoted(description)}`,
      ),
      ...flags.map((flag) => `${at} ${fishFlag(flag)}`),
    ];
  });
  const paths = tree.flatMap(({ path }) => (path === "" ? [] : [fishQuoted(path)]));
  return `# Completes lockstep in fish. Made by: lockstep completion fish
function __lockstep_at
  set -l typed ""
  for word in (commandline -opc)[2..]
    set -l longer (string trim -- "$typed $word")
    contains -- "$longer" ${paths.join(" ")}; and set typed "$longer"
  end
  test "$typed" = "$argv[1]"
end
${lines.join("\n")}
`;
}

function fishFlag({ word, description, takesValue, choices }: CompletedFlag): string {
  const values = choices.length > 0 ? ` -x -a ${fishQuoted(choices.join(" "))}` : " -r";
  const end = takesValue ? values : "";
  return `-l ${word.slice(2)}${end} -d ${fishQuoted(description)}`;
}

/** A word that names a command below the one found so far is part of the path. */
function pathCases(tree: readonly CompletedCommand[], variable = "path"): string {
  return tree
    .filter(({ path }) => path !== "")
    .map(({ path }) => {
      const typed = path.includes(" ") ? path : ` ${path}`;
      return `      ${quoted(typed)}) ${variable}=${quoted(path)} ;;`;
    })
    .join("\n");
}

/** Flags with fixed values, then those with any value. */
function valueCases(
  tree: readonly CompletedCommand[],
  fixed: (flag: CompletedFlag) => string,
  any: string,
): string {
  const lines = tree.flatMap(({ path, flags }) =>
    flags
      .filter(({ takesValue }) => takesValue)
      .map((flag) => {
        const does = flag.choices.length > 0 ? fixed(flag) : any;
        return `    ${quoted(`${path} ${flag.word}`)}) ${does} ;;`;
      }),
  );
  return lines.join("\n");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
