// The next message of a process that was forked from here.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";

/** Fails when the process ends instead, for it would be waited for in vain. */
export async function nextMessage<Message>(child: ChildProcess): Promise<Message> {
  const over = new AbortController();
  const ended = once(child, "exit", { signal: over.signal }).then(() => {
    throw new Error("the process has ended");
  });
  try {
    const [message]: Message[] = await Promise.race([once(child, "message"), ended]);
    if (message === undefined) throw new Error("the process sent nothing");
    return message;
  } finally {
    // The other promise of the race fails with this, and is no longer awaited.
    ended.catch(() => undefined);
    over.abort();
  }
}
