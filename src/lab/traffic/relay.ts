// Passes an answer on to the client, chunk by chunk, at the speed of the slower side. An answer
// that breaks off breaks off for the client too: half of one must not look whole.
import {
  type Headers,
  type IncomingResponse,
  NetworkError,
  type ServerExchange,
} from "../../environment/network.ts";

export async function relayAnswer(
  exchange: ServerExchange,
  response: IncomingResponse,
  added: Headers = {},
): Promise<void> {
  const writer = exchange.respond(response.status, { ...response.headers, ...added });
  try {
    for await (const chunk of response.body) {
      writer.write(chunk);
      await writer.drained();
      if (exchange.request.closed.aborted) return;
    }
    writer.end();
  } catch (error) {
    if (!(error instanceof NetworkError)) throw error;
    writer.abort();
  }
}

/** An answer of one line, for what went wrong on the way. */
export function answerLine(
  exchange: ServerExchange,
  status: number,
  line: string,
  added: Headers = {},
): void {
  const headers = { "content-type": "text/plain; charset=utf-8", ...added };
  exchange.respond(status, headers).end(Buffer.from(`${line}\n`));
}
