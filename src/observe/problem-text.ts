// An error of a request as one line for a person, with what to do where the server's word leaves it
// open.
import { StatusError } from "../kube/client/client.ts";

/** Of a request that was given up, the reason of the signal is the reason. */
export function problemText(error: unknown, signal?: AbortSignal): string {
  const problem: unknown = signal?.aborted === true ? signal.reason : error;
  const message = problem instanceof Error ? problem.message : String(problem);
  return problem instanceof StatusError && problem.code === 401
    ? `${message}: the API server does not accept these credentials; they may have expired`
    : message;
}
