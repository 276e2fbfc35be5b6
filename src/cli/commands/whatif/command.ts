// `lockstep whatif`: flags and help. To add a number about the cluster or its controllers, begin with a row
// in `inputs` (src/lab/whatif/inputs.ts, which names the rest); it can then be swept too. Any other flag
// needs a field in `WhatifFlags` and an option below, and is used in run.ts. The page offers some of the
// numbers too: `pageInputs` (src/cli/commands/up/page/whatif-answer.ts).
import { Command, Option } from "commander";
import { parseGoDuration } from "../../../environment/go-duration.ts";
import { type ProfileName, profileNames } from "../../../lab/versions/profiles.ts";
import {
  type Input,
  type InputKey,
  inputs,
  rangeText,
  readInput,
} from "../../../lab/whatif/inputs.ts";
import type { CommandContext, ExitCode } from "../../command.ts";
import { choice, duration, kubeconfigHelp, randomSeed, refuse, wholeNumber } from "../../flags.ts";
import { helpText } from "../../help-text.ts";
import { wrapText } from "../../terminal/text.ts";
import { type HeartbeatGap, type PresetName, presetNames } from "./question.ts";
import { runWhatif } from "./run.ts";

export interface WhatifFlags {
  /** Those of `inputs` that were given. */
  readonly given: Readonly<Partial<Record<InputKey, number>>>;
  readonly preset?: PresetName;
  readonly kubeVersion?: ProfileName;
  readonly heartbeat?: HeartbeatGap;
  readonly target?: number;
  readonly sweep?: Sweep;
  readonly steps: number;
  readonly fromContext?: string;
  readonly kubeconfig?: string;
  readonly seed: number;
  readonly json: boolean;
}

export interface Sweep {
  readonly input: Input;
  readonly from: number;
  readonly to: number;
}

/** The help of each number, by its group. A new row of `inputs` needs a line here. */
const descriptions: Readonly<Record<InputKey, readonly [InputGroup, string]>> = {
  services: ["The cluster:", "services with a selector (default: 1,000)"],
  "headless-share": ["The cluster:", "share of headless services, 0 to 1 (default: 0)"],
  pods: ["The cluster:", "pods (default: as many as services)"],
  nodes: ["The cluster:", "nodes (default: 10)"],
  churn: ["The cluster:", "pod changes a second or a minute: 0.5/s, 30/min (default: 0)"],
  "write-capacity": [
    "The cluster:",
    "maximum writes a second of the API server (default: no limit)",
  ],
  "write-latency": ["The cluster:", "time per write of an idle API server (default: 3ms)"],
  qps: ["The controllers:", "requests a second of the controllers: --kube-api-qps (default: 20)"],
  burst: ["The controllers:", "requests allowed at once: --kube-api-burst (default: 30)"],
  workers: [
    "The controllers:",
    "endpoint workers: --concurrent-endpoint-syncs, also for slices (default: 5)",
  ],
  resync: ["The controllers:", "time between full resyncs: --min-resync-period (default: 12h)"],
  "batch-period": [
    "The controllers:",
    "wait to join changes: --endpoint-updates-batch-period, also for slices (default: 0s)",
  ],
  "grace-period": [
    "The controllers:",
    "time until a silent node is lost: --node-monitor-grace-period (default: 40s, 50s since 1.32)",
  ],
};

const inputGroups = ["The cluster:", "The controllers:"] as const;

type InputGroup = (typeof inputGroups)[number];

const forms: Readonly<Record<Input["unit"], string>> = {
  count: "n",
  share: "0..1",
  "per second": "rate",
  duration: "time",
};

const epilogue = `
The prediction is a simulation of a cluster of this size with the controllers of this version. Pods
change at random times. The wait is the time from the stored pod status until the change is listed in
the EndpointSlices or Endpoints. "random time" combines times with and without a resync by their
share of the time. "during a resync" is the worst case. Nodes are simulated separately, with kubelets
that report late and nodes that die.

--churn changes random pods; the measured changes are some of these. If more work arrives than the
limits allow, the queue is saturated, and the answer is how fast the wait grows. In a small cluster
the wait stops growing, because a service is in the queue only once. Then the answer is that wait.

Processor time is not simulated. Above about 250 requests a second a real API server is busy with one
core, and real controllers merge changes and write less often than predicted. The output says so where
a prediction is above that rate.

--target finds the cheapest settings where no measured change waits longer: without a resync, during a
resync or during a restart. Cheaper means, in this order: a lower --kube-api-qps (the burst is 1.5
times as high), fewer workers, the same version. Every try simulates the same cluster with the same
random seed. The answer also shows the next cheaper settings, which fail. With 5,000 services this
takes about ten tries of several seconds, on a slow machine minutes. Standard error shows the progress.

${wrapText(
  `--sweep KEY=a..b simulates several values of ${inputs.map(({ key }) => key).join(", ")}.`,
  { width: 100 },
).join("\n")}

--from-context reads the numbers and the flags of the controllers from a cluster. It only reads and
first prints its requests. Flags override these values.

Exit codes: 0 success, 1 no setting meets the target, 2 error or stopped.

Examples:
  lockstep whatif --services 5000 --headless-share 0.9 --kube-version 1.17.3
  lockstep whatif --preset resync-storm --target 5s
  lockstep whatif --preset resync-storm --target 5s --write-capacity 43
  lockstep whatif --services 2000 --headless-share 1 --kube-version 1.17.3
  lockstep whatif --preset resync-storm --sweep qps=20..320
  lockstep whatif --heartbeat 20s..50s --sweep grace-period=30s..120s
  lockstep whatif --from-context production --target 10s --json`;

export function whatifCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  const command = new Command("whatif");
  for (const group of inputGroups) {
    command.optionsGroup(group);
    if (group === "The cluster:") {
      command.addOption(
        new Option("--preset <name>", "use the cluster of an incident").choices([...presetNames]),
      );
    }
    for (const input of inputs) {
      const [ofGroup, text] = descriptions[input.key];
      if (ofGroup !== group) continue;
      command.option(`--${input.key} <${forms[input.unit]}>`, text, inputReader(input));
    }
  }
  return command
    .option(
      "--kube-version <version>",
      `one of ${profileNames.join(", ")} (default: 1.33)`,
      kubeVersion,
    )
    .option(
      "--heartbeat <gap>",
      "time between kubelet reports: 10s, 20s..50s, lease:20s..50s, status:20s..50s",
      heartbeatGap,
    )
    .optionsGroup("The question:")
    .option(
      "--target <time>",
      "find the cheapest settings where no change waits longer",
      duration({ fromMs: 50, toMs: 3_600_000 }),
    )
    .option("--sweep <key=a..b>", "simulate several values of one setting", sweepOf)
    .option("--steps <n>", "number of values in a sweep", wholeNumber(2, 20), 5)
    .option("--from-context <name>", "read the numbers from a cluster of the kubeconfig")
    .option("--kubeconfig <file>", kubeconfigHelp)
    .option("--seed <n>", "random seed", randomSeed, 1)
    .option("--json", "print everything as one JSON document", false)
    .addHelpText("after", helpText(context, epilogue))
    .action(async (flags: Omit<WhatifFlags, "given">) =>
      done(await runWhatif(context, { ...flags, given: givenIn(command) })),
    );
}

function givenIn(command: Command): WhatifFlags["given"] {
  const given: Partial<Record<InputKey, number>> = {};
  for (const { key } of inputs) {
    const name = key.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
    const value: unknown = command.getOptionValue(name);
    if (typeof value === "number") given[key] = value;
  }
  return given;
}

function inputReader(input: Input): (text: string) => number {
  return (text) => {
    const read = readInput(input, text);
    return "value" in read ? read.value : refuse(read.refusal);
  };
}

/** With or without a `v`. */
export function kubeVersion(text: string): ProfileName {
  return choice(profileNames)(text.replace(/^v/, ""));
}

const heartbeatFromMs = 1_000;
const heartbeatToMs = 3_600_000;

/** `10s`, `20s..50s`, `lease:20s..50s`. */
export function heartbeatGap(text: string): HeartbeatGap {
  const [, way, first = "", second] =
    /^(?:(status|lease):)?([^.]+)(?:\.\.([^.]+))?$/.exec(text) ?? [];
  const minMs = parseGoDuration(first) ?? 0;
  const maxMs = second === undefined ? minMs : (parseGoDuration(second) ?? 0);
  if (minMs >= heartbeatFromMs && minMs <= maxMs && maxMs <= heartbeatToMs) {
    return { by: way === "status" || way === "lease" ? way : undefined, minMs, maxMs };
  }
  return refuse(
    "It must be a gap from 1s to 1h, such as 10s, 20s..50s, lease:20s..50s or status:20s..50s.",
  );
}

function sweepOf(text: string): Sweep {
  const [, key = "", first = "", last = ""] = /^([\w-]+)=(.+?)\.\.(.+)$/.exec(text) ?? [];
  const input = inputs.find((one) => one.key === key);
  if (input === undefined) {
    const keys = inputs.map((one) => one.key).join(", ");
    return refuse(`It must be KEY=a..b; KEY is one of ${keys}.`);
  }
  const from = readInput(input, first);
  const to = readInput(input, last);
  if ("value" in from && "value" in to && from.value < to.value) {
    return { input, from: from.value, to: to.value };
  }
  return refuse(`${key} must be ${rangeText(input)}, from a lower to a higher value.`);
}
