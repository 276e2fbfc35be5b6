// Runs `lockstep ingress explain` and `lockstep ingress endpoints`: both ask a running ingress over
// its status port and print its answer. Every failure names the address and a remedy.
import { Command } from "commander";
import { visible } from "../../../decide/routing/shown-text.ts";
import type { Environment } from "../../../environment/environment.ts";
import { NetworkError } from "../../../environment/network.ts";
import type { Terminal } from "../../../environment/terminal.ts";
import type { Explanation } from "../../../ingress/explanation.ts";
import type { PortReport, ServiceReport } from "../../../ingress/service-report.ts";
import { undecided } from "../../../ingress/status-server.ts";
import { Deadline } from "../../../kube/client/deadline.ts";
import { readBounded } from "../../../kube/client/http-client-body.ts";
import { tieredEndpoints } from "../../../outputs/nginx/service-entry.ts";
import { type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { listOf, portNumber, refuse } from "../../flags.ts";
import { helpText } from "../../help-text.ts";
import { paintFor } from "../../terminal/paint.ts";
import { wrapText } from "../../terminal/text.ts";
import { typedCommand } from "../../typed-command.ts";
import { endpointLines } from "./view.ts";

interface ExplainFlags {
  readonly header?: readonly string[];
  readonly statusPort: number;
  readonly json: boolean;
}

/** Port and query of the address do not matter. */
interface AskedAddress {
  readonly host: string;
  readonly path: string;
  readonly isSecure: boolean;
}

const explainEpilogue = `
The answer is the current state of the ingress. No request is sent to an endpoint.

Exit codes: 0 an endpoint would answer or the client is redirected, 1 no endpoint would answer,
2 error.

Examples:
  lockstep ingress explain shop.example
  lockstep ingress explain https://shop.example/cart --header 'x-canary: always'
  lockstep ingress explain shop.example --status-port 10261 --json`;

export function explainCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  return new Command("explain")
    .description(
      "show the Ingress, rule, service and endpoints that would serve a request, and why",
    )
    .argument("<host/path>", "such as shop.example/cart; with https:// for a TLS request")
    .option(
      "--header <name: value>",
      "header of the request, for canaries; repeatable",
      listOf(header),
    )
    .option("--status-port <port>", "status port of the ingress", portNumber, defaultStatusPort)
    .option("--json", "print JSON", false)
    .addHelpText("after", helpText(context, explainEpilogue))
    .action(async (asked: string, flags: ExplainFlags) => {
      done(await explain(context, askedAddress(asked), flags));
    });
}

export function askedAddress(text: string): AskedAddress {
  const withScheme = /^https?:\/\//i.test(text) ? text : `http://${text}`;
  let url: URL;
  try {
    url = new URL(withScheme);
  } catch (error) {
    const message = `"${text}" is not an address: give a host and a path, such as shop.example/cart`;
    throw new UsageError(message, { cause: error });
  }
  // Decoded and with single slashes, as nginx compares it.
  const path = decoded(url.pathname).replace(/\/{2,}/g, "/");
  return { host: url.hostname, path, isSecure: url.protocol === "https:" };
}

async function explain(
  { environment, terminal }: CommandContext,
  { host, path, isSecure }: AskedAddress,
  { header: headers = [], statusPort, json }: ExplainFlags,
): Promise<ExitCode> {
  const parameters = new URLSearchParams({ host, path, secure: String(isSecure) });
  for (const line of headers) parameters.append("header", line);
  // The answer comes from this program.
  const answer = (await askIngress(
    environment,
    statusPort,
    `/explain?${parameters}`,
  )) as Explanation;
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

interface EndpointsFlags {
  readonly namespace: string;
  readonly statusPort: number;
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
  lockstep ingress endpoints shop/web:80 --json`;

export function endpointsCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  return new Command("endpoints")
    .description("list every endpoint of a service, its state and the reason")
    .argument("<service>", "name, namespace/name, or one port: namespace/name:port")
    .option("-n, --namespace <name>", "namespace, if <service> has none", "default")
    .option("--status-port <port>", "status port of the ingress", portNumber, defaultStatusPort)
    .option("--json", "print JSON", false)
    .addHelpText("after", helpText(context, endpointsEpilogue))
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
  // The answer comes from this program.
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

/** The ingress answers from memory. */
const answerWithinMs = 10_000;

/** Much more than a service with 10,000 endpoints needs. */
const longestAnswerBytes = 64 * 1024 * 1024;

const defaultStatusPort = 10_260;

async function askIngress(
  { network, timers, processes }: Pick<Environment, "network" | "timers" | "processes">,
  port: number,
  path: string,
): Promise<unknown> {
  const url = `http://127.0.0.1:${port}${path}`;
  const deadline = new Deadline({ timers, deadlineMs: answerWithinMs, what: url });
  try {
    const response = await network.request({ method: "GET", url, signal: deadline.signal });
    const text = (await readBounded(response.body, longestAnswerBytes, url)).toString("utf8");
    if (response.status === 200) return JSON.parse(text);
    if (response.status === 503 && text.startsWith(undecided)) {
      const [, ...notes] = text.trimEnd().split("\n").map(visible);
      const why = ["its clusters are not listed yet", ...notes].join("; ");
      throw new UsageError(`the ingress at 127.0.0.1:${port} is not ready yet: ${why}`);
    }
    throw new UsageError(
      `${url} answered ${response.status}: the port may belong to another program`,
    );
  } catch (error) {
    if (error instanceof SyntaxError) {
      throw new UsageError(`${url} did not return JSON: the port may belong to another program`);
    }
    if (!(error instanceof NetworkError)) throw error;
    throw new UsageError(
      `no ingress answers at 127.0.0.1:${port}: ${why(error)}. ` +
        `Start one with ${typedCommand(processes, "ingress")}, ` +
        "or give its port with --status-port.",
      { cause: error },
    );
  } finally {
    deadline.release();
  }
}

function why({ code, message }: NetworkError): string {
  return code === "REFUSED" ? "connection refused" : message;
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
