// Chunks until they are no longer wanted: a pipe that stays open and silent, or a disk that does
// not answer, must not keep the program from ending.

/** Ends when the signal aborts. */
export async function* untilAborted(
  chunks: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await beforeAbort(iterator.next(), signal);
      if (next === undefined || next.done === true) return;
      yield next.value;
    }
  } finally {
    // Not waited for: it may be about to wait for a chunk that never comes.
    void iterator.return?.(undefined);
  }
}

/** Rejects with the signal's reason when it aborts, for readers that cannot use a part. */
export async function* allUnlessAborted(
  chunks: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  yield* untilAborted(chunks, signal);
  signal.throwIfAborted();
}

/** Undefined when the signal aborts first. */
function beforeAbort<Value>(
  pending: Promise<Value>,
  signal: AbortSignal,
): Promise<Value | undefined> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => resolve(undefined);
    if (signal.aborted) onAbort();
    // One for each chunk, because what waits for a promise stays with it until it is settled.
    signal.addEventListener("abort", onAbort, { once: true });
    pending.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
