// Questions to an ingress that runs, over its status port. Every failure says where was asked and
// what to do about it.
import { visible } from "../../../decide/routing/shown-text.ts";
import type { Environment } from "../../../environment/environment.ts";
import { NetworkError } from "../../../environment/network.ts";
import { undecided } from "../../../ingress/status-server.ts";
import { Deadline } from "../../../kube/client/deadline.ts";
import { readBounded } from "../../../kube/client/http-client-body.ts";
import { UsageError } from "../../command.ts";
import { typedCommand } from "../../typed-command.ts";

/** It answers from memory. */
const answerWithinMs = 10_000;

/** A service of 10,000 endpoints fits many times. */
const longestAnswerBytes = 64 * 1024 * 1024;

export const defaultStatusPort = 10_260;

export async function askIngress(
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
