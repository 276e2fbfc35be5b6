// Every command with its description. A module is loaded when its command is called, so that
// `lockstep --version` and a shell completion do not wait for the lab.
import type { Command } from "commander";
import type { CommandContext, ExitCode } from "./command.ts";

export type MakeCommand = (context: CommandContext, done: (code: ExitCode) => void) => Command;

/** A command whose module is not loaded is listed in the help. */
export interface ListedCommand {
  readonly name: string;
  readonly description: string;
  readonly make: MakeCommand | undefined;
}

interface CommandEntry {
  readonly name: string;
  readonly description: string;
  readonly load: () => Promise<MakeCommand>;
}

const commandList: readonly CommandEntry[] = [
  {
    name: "up",
    description: "demonstrate on this machine how a slow control plane loses requests, and the fix",
    load: async () => (await import("./commands/up/command.ts")).upCommand,
  },
  {
    name: "ingress",
    description: "route traffic to the pods of services in one or more clusters",
    load: async () => (await import("./commands/ingress/command.ts")).ingressCommand,
  },
  {
    name: "migrate",
    description: "compare what ingress-nginx does with what Lockstep would do",
    load: async () => (await import("./commands/migrate/command.ts")).migrateCommand,
  },
  {
    name: "sync",
    description: "copy services of business clusters to an access cluster, until stopped",
    load: async () => (await import("./commands/sync/command.ts")).syncCommand,
  },
  {
    name: "assist",
    description:
      "keep Services with fresh endpoints beside your own, for the ingress you already run",
    load: async () => (await import("./commands/assist/command.ts")).assistCommand,
  },
  {
    name: "watch",
    description: "show every endpoint change and how long each step takes, until stopped",
    load: async () => (await import("./commands/watch/command.ts")).watchCommand,
  },
  {
    name: "serve",
    description: "show clusters, changes and causes as a page in a browser (read-only)",
    load: async () => (await import("./commands/serve/command.ts")).serveCommand,
  },
  {
    name: "journeys",
    description: "show past endpoint changes and how long each step took",
    load: async () => (await import("./commands/journeys/command.ts")).journeysCommand,
  },
  {
    name: "record",
    description: "save pod and endpoint changes to a file, until stopped",
    load: async () => (await import("./commands/record/command.ts")).recordCommand,
  },
  {
    name: "blame",
    description: "find the cause of each failed request in an access log, offline",
    load: async () => (await import("./commands/blame/command.ts")).blameCommand,
  },
  {
    name: "doctor",
    description:
      "find the cause of late endpoint changes in logs and objects, or in a live cluster",
    load: async () => (await import("./commands/doctor/command.ts")).doctorCommand,
  },
  {
    name: "lab",
    description: "run embedded Kubernetes clusters for kubectl, until stopped",
    load: async () => (await import("./commands/lab/command.ts")).labCommand,
  },
  {
    name: "incident",
    description: "replay a real incident, and compare stock with Lockstep",
    load: async () => (await import("./commands/incident/command.ts")).incidentCommand,
  },
  {
    name: "whatif",
    description: "predict how long changes wait, and find settings that meet a target",
    load: async () => (await import("./commands/whatif/command.ts")).whatifCommand,
  },
  {
    name: "completion",
    description: "print a script that completes commands and flags in a shell",
    load: async () => (await import("./commands/completion/command.ts")).completionCommand,
  },
];

/** Loads the modules that these arguments need. The script of `completion` has the flags of all. */
export function commandsFor(args: readonly string[]): Promise<readonly ListedCommand[]> {
  const [first, second] = args;
  const called = first === "help" ? second : first;
  return loadCommands((name) => name === called || called === "completion");
}

/** Loads the modules of all commands, for callers that cannot wait for one later. */
export function allCommands(): Promise<readonly ListedCommand[]> {
  return loadCommands(() => true);
}

function loadCommands(isNeeded: (name: string) => boolean): Promise<readonly ListedCommand[]> {
  return Promise.all(
    commandList.map(async ({ name, description, load }) => ({
      name,
      description,
      make: isNeeded(name) ? await load() : undefined,
    })),
  );
}
