// `lockstep ingress endpoints`: asks a running ingress for the truth about one service.
import { Command } from "commander";
import type { PortReport, ServiceReport } from "../../../ingress/service-report.ts";
import { tieredEndpoints } from "../../../outputs/nginx/service-entry.ts";
import type { CommandContext, ExitCode } from "../../command.ts";
import { helpText } from "../../help-text.ts";
import { paintFor } from "../../terminal/paint.ts";
import { wholeNumber } from "../../whole-number.ts";
import { endpointLines } from "./endpoint-lines.ts";
import { printable } from "./printable.ts";
import { askIngress, defaultStatusPort } from "./running-ingress.ts";

interface EndpointsFlags {
  readonly namespace: string;
  readonly statusPort: number;
  readonly json: boolean;
}

const epilogue = `
  ● active    gets requests
  ◇ held      marked unready or removed, but answers probes; gets requests
  ◐ draining  terminates but still answers; gets requests if nothing better is left
  ! suspect   requests and probes fail; gets requests only as a last resort
  ○ out       gets no requests

In coloured rows, Lockstep decides differently from the EndpointSlices.

Exit codes: 0 at least one endpoint gets requests, 1 no endpoint or no route, 2 error.

Examples:
  lockstep ingress endpoints web --namespace shop
  lockstep ingress endpoints shop/web:80 --json`;

export function endpointsCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  return new Command("endpoints")
    .description("list every endpoint of a service, its state and the reason")
    .argument("<service>", "name, namespace/name, or one port: namespace/name:port")
    .option("-n, --namespace <name>", "namespace of a service given without one", "default")
    .option(
      "--status-port <port>",
      "status port of the ingress",
      wholeNumber(1, 65_535),
      defaultStatusPort,
    )
    .option("--json", "print JSON", false)
    .addHelpText("after", helpText(context, epilogue))
    .action(async (service: string, flags: EndpointsFlags) => {
      done(await endpoints(context, service, flags));
    });
}

async function endpoints(
  { environment, terminal }: CommandContext,
  asked: string,
  { namespace, statusPort, json }: EndpointsFlags,
): Promise<ExitCode> {
  const service = asked.includes("/") ? asked : `${namespace}/${asked}`;
  const path = `/endpoints?${new URLSearchParams({ service })}`;
  // The other side is this program too.
  const report = (await askIngress(environment, statusPort, path)) as ServiceReport;
  if (json) terminal.write(`${JSON.stringify(report, undefined, 2)}\n`);
  else terminal.write(`${reportLines(terminal, service, report).join("\n")}\n`);
  return report.kind === "known" && report.ports.every(isServed) ? 0 : 1;
}

export function reportLines(
  terminal: Pick<CommandContext["terminal"], "colours" | "columns">,
  service: string,
  answer: ServiceReport,
): readonly string[] {
  const paint = paintFor(terminal);
  const report = printable(answer);
  if (report.kind === "unknown") {
    const near = report.near.length === 0 ? "" : ` Similar: ${report.near.join(", ")}.`;
    return [`${paint.failed("✗")} No route leads to ${paint.strong(service)}.${near}`];
  }
  return report.ports.flatMap((port) => {
    const [count = 0, ...others] = tieredEndpoints(port.endpoints).tiers;
    const more = others.reduce((sum, one) => sum + one, 0);
    const sign = isServed(port) ? paint.lockstep("●") : paint.failed("✗");
    const title = `${sign} ${paint.strong(port.service)}: ${count} of ${port.endpoints.length}`;
    const standingBy = more === 0 ? "" : `, ${more} on standby`;
    return [`${title} endpoints get requests${standingBy}`, ...endpointLines(terminal, port)];
  });
}

function isServed({ endpoints: all }: PortReport): boolean {
  return all.some(({ state }) => state !== "out");
}
