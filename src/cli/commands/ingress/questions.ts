// Runs `lockstep ingress explain` and `lockstep ingress endpoints`: both ask a running ingress and print
// its answer.
import { Command } from "commander";
import type { FieldCondition, RouteConditions } from "../../../decide/route-conditions.ts";
import { visible } from "../../../decide/routing/shown-text.ts";
import type { Terminal } from "../../../environment/terminal.ts";
import type { Explanation } from "../../../ingress/explanation.ts";
import type { PortReport, ServiceReport } from "../../../ingress/service-report.ts";
import { tieredEndpoints } from "../../../outputs/nginx/service-entry.ts";
import { type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { listOf, refuse } from "../../flags.ts";
import { helpText } from "../../help-text.ts";
import { paintFor } from "../../terminal/paint.ts";
import { wrapText } from "../../terminal/text.ts";
import { addReplicaFlags, askReplica, type ReplicaFlags } from "./replica-request.ts";
import { endpointLines } from "./view.ts";

interface ExplainFlags extends ReplicaFlags {
  readonly header?: readonly string[];
  readonly json: boolean;
}

/** The query of the address does not matter. */
interface AskedAddress {
  readonly host: string;
  readonly path: string;
  readonly isSecure: boolean;
  /** A gRPC call. */
  readonly isCall: boolean;
  /** Empty for the usual one. */
  readonly port: string;
}

const explainEpilogue = `
The output is the current state of the ingress. No request is sent to an endpoint. With --context the
command finds a ready replica by its labels, and reads from it through the API server. This needs
permission to list pods (not with --pod) and to get pods/proxy. The replica needs a --status-address
that the API server reaches.

Exit codes: 0 an endpoint would answer or the client is redirected, 1 no endpoint would answer,
2 error.

Examples:
  lockstep ingress explain shop.example
  lockstep ingress explain https://shop.example/cart --header 'x-canary: always'
  lockstep ingress explain grpcs://shop.example/shop.Cart/Add
  lockstep ingress explain shop.example --status-port 10261 --json
  lockstep ingress explain shop.example --context prod
  lockstep ingress explain shop.example --context prod --pod lockstep/lockstep-ingress-0`;

export function explainCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  const command = new Command("explain")
    .description(
      "show the Ingress, HTTPRoute or GRPCRoute, rule, service and endpoints that would serve a request, and why",
    )
    .argument(
      "<host/path>",
      "such as shop.example/cart, for a GET; with https:// over TLS; for a gRPC call grpc:// or grpcs://, such as grpcs://shop.example/shop.Cart/Add",
    )
    .option(
      "--header <name: value>",
      "header of the request, for canaries; repeatable",
      listOf(header),
    )
    .option("--json", "print JSON", false);
  return addReplicaFlags(command)
    .addHelpText("after", helpText(context, explainEpilogue))
    .action(async (asked: string, flags: ExplainFlags) => {
      done(await explain(context, askedAddress(asked), flags));
    });
}

export function askedAddress(text: string): AskedAddress {
  const [, scheme = "http", rest = text] = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/is.exec(text) ?? [];
  const [, protocol, isSecure] = /^(http|grpc)(s?)$/i.exec(scheme) ?? [];
  if (protocol === undefined) {
    throw new UsageError(`"${text}": use http://, https://, grpc:// or grpcs://, not ${scheme}://`);
  }
  const isCall = protocol.toLowerCase() === "grpc";
  let url: URL;
  try {
    url = new URL(`http${isSecure ? "s" : ""}://${rest}`);
  } catch (error) {
    const message = `"${text}" is not an address: give a host and a path, such as shop.example/cart`;
    throw new UsageError(message, { cause: error });
  }
  // Decoded and with single slashes, as nginx compares it.
  const path = decoded(url.pathname).replace(/\/{2,}/g, "/");
  if (isCall && !/^\/[^/]+\/[^/]+$/.test(path)) {
    throw new UsageError(`"${text}" is not a call: give ${scheme}://HOST/SERVICE/METHOD`);
  }
  return { host: url.hostname, path, isSecure: url.protocol === "https:", isCall, port: url.port };
}

async function explain(
  context: CommandContext,
  { host, path, isSecure, isCall, port }: AskedAddress,
  flags: ExplainFlags,
): Promise<ExitCode> {
  const { terminal } = context;
  const { header: headers = [], json } = flags;
  const secure = String(isSecure);
  const parameters = new URLSearchParams({ host, path, secure, port });
  if (isCall) parameters.set("call", "true");
  for (const line of headers) parameters.append("header", line);
  // The answer comes from this program.
  const answer = (await askReplica(context, flags, `/explain?${parameters}`)) as Explanation;
  if (json) terminal.write(`${JSON.stringify(answer, undefined, 2)}\n`);
  else terminal.write(explanationText(terminal, `${host}${path}`, answer));
  return (answer.status ?? 200) < 400 ? 0 : 1;
}

export function explanationText(
  terminal: Pick<Terminal, "colours" | "columns">,
  asked: string,
  answer: Explanation,
): string {
  const paint = paintFor(terminal);
  const { verdict, status, host, rule, origin, asks, services, near, problems } = printable(answer);
  const isServed = (status ?? 200) < 400;
  const sign = isServed ? paint.lockstep("●") : paint.failed("✗");
  const shownStatus = status === undefined ? "" : ` (${status})`;
  const fact = (name: string, value: string) =>
    wrapText(value, {
      width: terminal.columns,
      first: `  ${name.padEnd(9)} `,
      rest: " ".repeat(12),
    });
  const indent = "  ";
  const [head = "", ...tail] = wrapText(`${asked}: ${verdict}${shownStatus}`, {
    width: terminal.columns - indent.length,
  });
  const lines = [
    `${sign} ${head.replace(asked, paint.strong)}`,
    ...tail.map((line) => indent + line),
    "",
    ...(host === undefined ? [] : fact("host", host)),
    ...(rule === undefined ? [] : fact("path", `${rule.type} ${rule.path}`)),
    ...(rule?.when === undefined ? [] : fact("only if", conditionsText(rule.when))),
    ...(origin === undefined ? [] : fact("from", origin)),
    ...asks.flatMap((sentence, index) => fact(index === 0 ? "policy" : "", sentence)),
    ...near.flatMap((name, index) => fact(index === 0 ? "similar" : "", name)),
    ...problems.flatMap((problem) => fact("problem", problem).map(paint.late)),
    ...services.flatMap((service) => [
      ...fact("service", `${service.service}, ${service.because}`),
      "",
      ...endpointLines(terminal, service),
      "",
    ]),
  ];
  return `${lines.join("\n").trimEnd()}\n`;
}

function conditionsText(conditions: RouteConditions): string {
  const { ports = [], method, elements = [], headers = [], query = [] } = conditions;
  const text = (what: string, { pattern, value = "" }: FieldCondition) =>
    pattern === undefined ? `${what} is ${value}` : `${what} matches ${pattern}`;
  const ofField = (what: string) => (field: FieldCondition) => text(`${what} ${field.name}`, field);
  return [
    ...(ports.length === 0 ? [] : [`port ${ports.join(" or ")}`]),
    ...(method === undefined ? [] : [`method ${method}`]),
    ...elements.map((one) => text(one.name === "1" ? "gRPC service" : "gRPC method", one)),
    ...headers.map(ofField("header")),
    ...query.map(ofField("parameter")),
  ].join(", ");
}

function decoded(pathname: string): string {
  try {
    return decodeURIComponent(pathname);
  } catch {
    // Not UTF-8: nginx compares the bytes, which no rule can match.
    return pathname;
  }
}

function header(line: string): string {
  if (/^[^:\s]+\s*[:=]/.test(line)) return line.replace(/^([^:=\s]+)\s*[:=]/, "$1:");
  return refuse("It must be name: value, such as 'x-canary: always'.");
}

interface EndpointsFlags extends ReplicaFlags {
  readonly namespace: string;
  readonly json: boolean;
}

const endpointsEpilogue = `
States of an endpoint:
  ● active    gets requests
  ◇ held      marked unready or removed, but answers probes; gets requests
  ◐ draining  terminates but still answers; gets requests if nothing better is left
  ! suspect   requests and probes fail; gets requests only as a last resort
  ○ out       gets no requests

In coloured rows, Lockstep decides differently from the EndpointSlices.

Exit codes: 0 at least one endpoint gets requests, 1 no endpoint or no route, 2 error.

Examples:
  lockstep ingress endpoints web --namespace shop
  lockstep ingress endpoints shop/web:80 --json
  lockstep ingress endpoints shop/web --context prod`;

export function endpointsCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  const command = new Command("endpoints")
    .description("list every endpoint of a service, its state and the reason")
    .argument("<service>", "name, namespace/name, or one port: namespace/name:port")
    .option("-n, --namespace <name>", "namespace, if <service> has none", "default")
    .option("--json", "print JSON", false);
  return addReplicaFlags(command)
    .addHelpText("after", helpText(context, endpointsEpilogue))
    .action(async (service: string, flags: EndpointsFlags) => {
      done(await endpoints(context, service, flags));
    });
}

async function endpoints(
  context: CommandContext,
  asked: string,
  flags: EndpointsFlags,
): Promise<ExitCode> {
  const { terminal } = context;
  const { namespace, json } = flags;
  const service = asked.includes("/") ? asked : `${namespace}/${asked}`;
  const path = `/endpoints?${new URLSearchParams({ service })}`;
  // The answer comes from this program.
  const report = (await askReplica(context, flags, path)) as ServiceReport;
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
    const { routes = [] } = port;
    const from = `routed by ${routes.join(", ")}`;
    const width = { width: terminal.columns, first: "  ", rest: "    " };
    return [
      `${title} endpoints get requests${standingBy}`,
      ...(routes.length === 0 ? [] : wrapText(from, width).map(paint.secondary)),
      ...endpointLines(terminal, port),
    ];
  });
}

function isServed({ endpoints: all }: PortReport): boolean {
  return all.some(({ state }) => state !== "out");
}

/**
 * Escapes control characters in every text of the answer, because paths and pod names may contain
 * them.
 */
function printable<Answer extends object>(answer: Answer): Answer {
  const spelledOut = (_: string, value: unknown) =>
    typeof value === "string" ? visible(value) : value;
  // The answer came as JSON, so nothing is lost.
  return JSON.parse(JSON.stringify(answer), spelledOut) as Answer;
}
