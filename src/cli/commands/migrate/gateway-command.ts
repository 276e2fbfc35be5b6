// `lockstep migrate gateway`: flags, help and output. The objects are YAML on standard output, with what they
// lack as comments before them.
import { Command } from "commander";
import { stringify } from "yaml";
import { visible } from "../../../decide/routing/shown-text.ts";
import type { FoundObjects } from "../../../migrate/found-objects.ts";
import { gatewayObjects, type WrittenGateways } from "../../../migrate/gateway-routes.ts";
import { chooseIngresses } from "../../../migrate/ingress-choice.ts";
import { type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { anyText, asUsage, filePath, kubeconfigHelp, listOf, refuseBoth } from "../../flags.ts";
import { helpText } from "../../help-text.ts";
import { jsonLine } from "../../terminal/json-line.ts";
import { inputErrors, readObjects } from "./objects.ts";

interface GatewayFlags {
  readonly context?: string;
  readonly kubeconfig?: string;
  readonly class: readonly string[];
  readonly gatewayClass: string;
  readonly gateway: string;
  readonly json: boolean;
}

const epilogue = `
Prints a Gateway for each namespace and HTTPRoutes with the rules that lockstep ingress decides for these
Ingresses. Comments at the top name everything that the Gateway API cannot express:
  refused  the rule is printed without backends: its requests get 500, and no wider rule takes them
  without  the rule is served without this

Nothing is written to the cluster. Between several Ingresses with one path, the oldest has it, as for
lockstep ingress. Named ports need the Services in the input.

Exit codes: 0 everything is expressed, 1 something is not, 2 error.

Examples:
  lockstep migrate gateway --context prod > routes.yaml
  lockstep migrate gateway manifests/ --gateway-class lockstep
  kubectl get ingress,service -A -o yaml | lockstep migrate gateway - --json`;

export function gatewayCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  return new Command("gateway")
    .description("print Ingresses as objects of the Gateway API, with what these cannot express")
    .argument("[path...]", "files or folders with YAML or JSON, - for standard input")
    .optionsGroup("Input:")
    .option("--context <name>", "context of a cluster to read, instead of files", anyText)
    .option("--kubeconfig <file>", kubeconfigHelp, filePath)
    .option("--class <name>", "only Ingresses of this class; repeatable", listOf(anyText), [])
    .optionsGroup("Output:")
    .option("--gateway-class <name>", "GatewayClass of the Gateways", anyText, "lockstep")
    .option("--gateway <name>", "name of the Gateway in each namespace", anyText, "lockstep")
    .option("--json", "print JSON", false)
    .addHelpText("after", helpText(context, epilogue))
    .action(async (paths: readonly string[], flags: GatewayFlags) => {
      done(await runGateway(context, paths, flags));
    });
}

async function runGateway(
  context: CommandContext,
  paths: readonly string[],
  flags: GatewayFlags,
): Promise<ExitCode> {
  refuseBoth({ PATH: paths.length > 0, "--context": flags.context !== undefined });
  if (paths.length === 0 && flags.context === undefined) {
    throw new UsageError(
      "give files or folders with Ingresses, - for standard input, or --context for a cluster",
    );
  }
  const asked = { ...flags, secrets: false, onlyIngresses: false };
  const found = await asUsage(inputErrors, () => readObjects(context, paths, asked));
  if (found.ingresses.size === 0) {
    throw new UsageError(`no Ingress was found among ${found.objects} objects`);
  }
  const written = writtenGateways(found, flags);
  const { terminal } = context;
  const notes = found.problems.map((text) => visible(text));
  if (flags.json) terminal.write(`${jsonLine({ version: 1, ...written, notes })}\n`);
  else terminal.write(yamlOf(written, notes));
  return written.findings.length === 0 ? 0 : 1;
}

/** A controller for each class, as for ingress-nginx. */
function writtenGateways(found: FoundObjects, flags: GatewayFlags): WrittenGateways {
  const { byClass } = chooseIngresses(found, flags.class);
  const { gatewayClass, gateway: gatewayName } = flags;
  const { services } = found;
  const all = [...byClass].map(([className, ofClass]) => {
    const ingresses = ofClass.map((one) => ({ ...one, ingressClassName: className }));
    const options = { className, gatewayClass, gatewayName, routing: {}, services };
    return gatewayObjects(ingresses, options);
  });
  return {
    objects: all.flatMap(({ objects }) => objects),
    findings: all.flatMap(({ findings }) => findings),
  };
}

function yamlOf({ objects, findings }: WrittenGateways, notes: readonly string[]): string {
  const lines = [
    ...findings.map(({ kind, ingress, message }) => `${kind}  Ingress ${ingress}: ${message}`),
    ...notes,
  ];
  const comments = lines.map((line) => `# ${visible(line)}\n`).join("");
  return `${comments}${objects.map((one) => `---\n${stringify(one)}`).join("")}`;
}
