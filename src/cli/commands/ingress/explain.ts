// `lockstep ingress explain`: asks a running ingress who would serve a request, and why.
import { Command } from "commander";
import type { Terminal } from "../../../environment/terminal.ts";
import type { Explanation } from "../../../ingress/explanation.ts";
import { type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { helpText } from "../../help-text.ts";
import { paintFor } from "../../terminal/paint.ts";
import { wrapText } from "../../terminal/wrapped-text.ts";
import { wholeNumber } from "../../whole-number.ts";
import { endpointLines } from "./endpoint-lines.ts";
import { printable } from "./printable.ts";
import { askIngress, defaultStatusPort } from "./running-ingress.ts";

interface ExplainFlags {
  readonly header?: readonly string[];
  readonly statusPort: number;
  readonly json: boolean;
}

/** What is asked about; a port in it changes nothing, and a query neither. */
export interface AskedAddress {
  readonly host: string;
  readonly path: string;
  readonly isSecure: boolean;
}

const epilogue = `
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
    .option("--header <name: value>", "header of the request, for canaries; repeatable", header)
    .option(
      "--status-port <port>",
      "status port of the ingress",
      wholeNumber(1, 65_535),
      defaultStatusPort,
    )
    .option("--json", "print JSON", false)
    .addHelpText("after", helpText(context, epilogue))
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
  // As nginx sees it: decoded, and with single slashes.
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
  // The other side is this program too.
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
    // Not UTF-8: nginx would look at the bytes, which no rule can name.
    return pathname;
  }
}

function header(line: string, known: readonly string[] = []): readonly string[] {
  if (/^[^:\s]+\s*[:=]/.test(line)) return [...known, line.replace(/^([^:=\s]+)\s*[:=]/, "$1:")];
  throw new UsageError(`--header ${line}: must be name: value`);
}
