// Runs `lockstep migrate check`: reads the objects, checks them and prints the report.
import { resolve as absolute } from "node:path";
import { visible } from "../../../decide/routing/shown-text.ts";
import { objectKey } from "../../../kube/kinds/kind.ts";
import { type CheckOptions, type CheckReport, check } from "../../../migrate/check.ts";
import type { FoundObjects } from "../../../migrate/found-objects.ts";
import { type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { asUsage, refuseBoth, refuseWithout } from "../../flags.ts";
import { paintFor } from "../../terminal/paint.ts";
import { reportColumns } from "../../terminal/text.ts";
import { ConfigSource } from "../ingress/config.ts";
import type { CheckFlags, FailLevel } from "./check-command.ts";
import { checkJson } from "./check-json.ts";
import { checkLines } from "./check-view.ts";
import { inputErrors, readObjects } from "./objects.ts";

export async function runCheck(
  context: CommandContext,
  paths: readonly string[],
  flags: CheckFlags,
): Promise<ExitCode> {
  const { terminal } = context;
  refuseBoth({ PATH: paths.length > 0, "--context": flags.context !== undefined });
  refuseWithout("--context", flags.context !== undefined, {
    "--kubeconfig": flags.kubeconfig !== undefined,
    "--no-secrets": !flags.secrets,
  });
  if (paths.length === 0 && flags.context === undefined) {
    throw new UsageError(
      "give files or folders with Ingresses, - for standard input, or --context for a cluster",
    );
  }
  const options = await checkOptions(context, flags);
  const found = await asUsage(inputErrors, () =>
    readObjects(context, paths, { ...flags, onlyIngresses: false }),
  );
  if (found.ingresses.size === 0) throw new UsageError(noIngress(found));
  const report = check(found, options);
  refuseUnknown(report, flags.ingress);
  const notes = found.problems.map((text) => visible(text));
  if (found.moreProblems > 0) notes.push(`${found.moreProblems} more problems are not listed`);
  if (flags.json) terminal.write(`${checkJson(report, notes)}\n`);
  else {
    const view = { ...flags, width: reportColumns(terminal), paint: paintFor(terminal) };
    terminal.write(`${checkLines(report, notes, view).join("\n")}\n`);
  }
  return isFailed(report, flags.failOn) ? 1 : 0;
}

/** With the settings that Lockstep would have. */
async function checkOptions(
  { environment }: CommandContext,
  { config: file, class: classes, configMap }: CheckFlags,
): Promise<CheckOptions> {
  const path = file === undefined ? undefined : absolute(file);
  const source = await ConfigSource.open(new Map(), {
    ...environment,
    path,
    shownPath: file ?? "",
  });
  const { config } = source.current;
  const { hstsMaxAgeSeconds, trustedProxies } = config.nginx;
  // Without a file nothing says that TLS is not served.
  const sslRedirect = file === undefined || config.routing.sslRedirect;
  return {
    classes,
    routing: { ...config.routing, sslRedirect },
    lockstep: {
      hstsMaxAgeSeconds,
      sslRedirect,
      trustedProxies,
      proxyProtocol: config.proxyProtocol,
      hasDefaultCertificate: config.defaultCertificate !== undefined,
      hasDefaultBackend: config.routing.defaultBackend !== undefined,
      publishesAddress: config.leadership.publishAddresses.length > 0,
    },
    defaultCertificate: config.defaultCertificate,
    configMap: configMap && objectKey(configMap),
    now: environment.clock.wallMs(),
  };
}

function noIngress({ problems, objects }: FoundObjects): string {
  const read = `no Ingress was found among ${objects} objects`;
  return [read, ...problems.slice(0, 5)].map((text) => visible(text)).join("\n  ");
}

function refuseUnknown({ ingresses }: CheckReport, asked: readonly string[]): void {
  const known = new Set(ingresses.map(objectKey));
  const unknown = asked.find((key) => !known.has(key));
  if (unknown === undefined) return;
  throw new UsageError(`Ingress ${visible(unknown)} was not found or is of another class`);
}

function isFailed({ ingresses, controller }: CheckReport, level: FailLevel): boolean {
  if (level === "never") return false;
  const settings = [...controller.settings, ...controller.flags];
  const set = settings.filter(({ isSet }) => isSet);
  const verdicts = [...ingresses, ...set].map(({ verdict }) => verdict);
  if (level === "refused") return verdicts.includes("refused");
  if (verdicts.some((verdict) => verdict !== "same")) return true;
  return level === "defaults" && settings.some(({ verdict }) => verdict !== "same");
}
