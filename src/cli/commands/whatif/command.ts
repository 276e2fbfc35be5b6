// `lockstep whatif`: predicts what becomes of a change in a cluster of a given size with given
// settings, by running the same controllers in virtual time; finds settings that meet a target.
import { Command, InvalidArgumentError, Option } from "commander";
import { parseGoDuration } from "../../../environment/go-duration.ts";
import { type ProfileName, profileNames } from "../../../lab/versions/profiles.ts";
import {
  type Input,
  type InputKey,
  inputs,
  rangeText,
  readInput,
} from "../../../lab/whatif/inputs.ts";
import { type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { helpText } from "../../help-text.ts";
import { wrapText } from "../../terminal/wrapped-text.ts";
import { wholeNumber } from "../../whole-number.ts";
import {
  examplePreset,
  fittedIn,
  type HeartbeatGap,
  type PresetName,
  parseHeartbeat,
  parseVersion,
  presetNames,
  questionOf,
} from "./asked.ts";
import { readFromContext } from "./from-context.ts";
import { answer, type Sweep } from "./run.ts";

interface WhatifFlags extends Readonly<Partial<Record<string, unknown>>> {
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

const descriptions: Readonly<Record<InputKey, string>> = {
  services: "services with a selector (default: 1,000)",
  "headless-share": "share of headless services, 0 to 1 (default: 0)",
  pods: "pods (default: as many as services)",
  nodes: "nodes (default: 10)",
  churn: "pod changes a second or a minute: 0.5/s, 30/min (default: 0)",
  "write-capacity": "maximum writes a second of the API server (default: no limit)",
  "write-latency": "time per write of an idle API server (default: 3ms)",
  qps: "--kube-api-qps (default: 20)",
  burst: "--kube-api-burst (default: 30)",
  workers: "--concurrent-endpoint-syncs, also for slices (default: 5)",
  resync: "--min-resync-period (default: 12h)",
  "batch-period": "--endpoint-updates-batch-period, also for slices (default: 0s)",
  "grace-period": "--node-monitor-grace-period (default: 40s, 50s since 1.32)",
};

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
share of the time. "during a resync" is the bad case. Nodes are simulated separately, with kubelets
that report late and nodes that die.

--churn changes all pods alike; the measured changes are part of it. If more work arrives than the
limits allow, the queue is saturated: the answer is how fast the wait grows, not a wait. In a small
cluster the growth ends within the simulation, because a service is in the queue only once. Then the
answer is the wait after that.

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
  const command = new Command("whatif")
    .description("predict how long changes wait, and find settings that meet a target")
    .addOption(
      new Option("--preset <name>", "use the cluster of an incident").choices([...presetNames]),
    );
  for (const input of inputs) {
    command.option(
      `--${input.key} <${forms[input.unit]}>`,
      descriptions[input.key],
      inputReader(input),
    );
  }
  return command
    .option(
      "--kube-version <version>",
      `one of ${profileNames.join(", ")} (default: 1.33)`,
      versionReader,
    )
    .option(
      "--heartbeat <gap>",
      "time between kubelet reports: 10s, 20s..50s, lease:20s..50s, status:20s..50s",
      heartbeatReader,
    )
    .option("--target <time>", "find the cheapest settings with no longer wait", targetReader)
    .option("--sweep <key=a..b>", "simulate several values of one setting", sweepReader)
    .option("--steps <n>", "number of values in a sweep", wholeNumber(2, 20), 5)
    .option("--from-context <name>", "read the numbers from a cluster of the kubeconfig")
    .option("--kubeconfig <file>", "kubeconfig file (default: $KUBECONFIG or ~/.kube/config)")
    .option("--seed <n>", "random seed", wholeNumber(0, 2 ** 31 - 1), 1)
    .option("--json", "print everything as one JSON document", false)
    .addHelpText("after", helpText(context, epilogue))
    .action(async (flags: WhatifFlags) => done(await runWhatif(context, flags)));
}

async function runWhatif(context: CommandContext, flags: WhatifFlags): Promise<ExitCode> {
  const { target, sweep, fromContext, kubeconfig, kubeVersion, heartbeat, seed } = flags;
  const given = givenIn(flags);
  if (target !== undefined && sweep !== undefined) {
    throw new UsageError("use either --target or --sweep, not both.");
  }
  if (flags.preset !== undefined && fromContext !== undefined) {
    throw new UsageError("use either --preset or --from-context, not both.");
  }
  if (sweep !== undefined && given[sweep.input.key] !== undefined) {
    throw new UsageError(`--${sweep.input.key} is the value of the sweep: remove it.`);
  }
  const isOpen = Object.keys(given).length === 0 && kubeVersion === undefined;
  const isExample = isOpen && fromContext === undefined && heartbeat === undefined && !sweep;
  const preset = flags.preset ?? (isExample ? examplePreset : undefined);
  const read =
    fromContext === undefined
      ? undefined
      : await readFromContext(context, { name: fromContext, kubeconfig });
  const question = questionOf({
    given,
    seed,
    ...(preset === undefined ? {} : { preset }),
    ...(kubeVersion === undefined ? {} : { version: kubeVersion }),
    ...(heartbeat === undefined ? {} : { heartbeat }),
    ...(read === undefined ? {} : { read }),
  });
  if (target !== undefined && question.settings.batchMs >= target) {
    throw new UsageError(
      "--target must be longer than the batch period, because every change waits for it.",
    );
  }
  return answer(context, question, {
    json: flags.json,
    steps: flags.steps,
    ...(target === undefined ? {} : { targetMs: target }),
    ...(sweep === undefined ? {} : { sweep }),
    ...(preset === undefined ? {} : { fitted: fittedIn(preset) }),
    ...(flags.preset === undefined && isExample ? { example: examplePreset } : {}),
  });
}

function givenIn(flags: WhatifFlags): Partial<Record<InputKey, number>> {
  const given: Partial<Record<InputKey, number>> = {};
  for (const { key } of inputs) {
    const name = key.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
    const value = flags[name];
    if (typeof value === "number") given[key] = value;
  }
  return given;
}

function inputReader(input: Input): (text: string) => number {
  return (text) => {
    const read = readInput(input, text);
    if ("value" in read) return read.value;
    throw new InvalidArgumentError(read.refusal);
  };
}

function versionReader(text: string): ProfileName {
  const version = parseVersion(text);
  if (version !== undefined) return version;
  throw new InvalidArgumentError(`It must be one of ${profileNames.join(", ")}.`);
}

function heartbeatReader(text: string): HeartbeatGap {
  const gap = parseHeartbeat(text);
  if (gap !== undefined) return gap;
  throw new InvalidArgumentError(
    "It must be a gap from 1s to 1h, such as 10s, 20s..50s, lease:20s..50s or status:20s..50s.",
  );
}

const targetFromMs = 50;
const targetToMs = 3_600_000;

function targetReader(text: string): number {
  const ms = parseGoDuration(text);
  if (ms !== undefined && ms >= targetFromMs && ms <= targetToMs) return ms;
  throw new InvalidArgumentError("It must be a duration from 50ms to 1h, such as 5s.");
}

function sweepReader(text: string): Sweep {
  const [, key = "", first = "", last = ""] = /^([\w-]+)=(.+?)\.\.(.+)$/.exec(text) ?? [];
  const input = inputs.find((one) => one.key === key);
  const keys = inputs.map((one) => one.key).join(", ");
  if (input === undefined) {
    throw new InvalidArgumentError(`It must be KEY=a..b; KEY is one of ${keys}.`);
  }
  const from = readInput(input, first);
  const to = readInput(input, last);
  if ("value" in from && "value" in to && from.value < to.value) {
    return { input, from: from.value, to: to.value };
  }
  throw new InvalidArgumentError(
    `${key} must be ${rangeText(input)}, from a lower to a higher value.`,
  );
}
