// What is piped into this process. It can be read once; leaving the loop early closes it.

export async function* nodeStdin(): AsyncGenerator<Uint8Array> {
  for await (const chunk of process.stdin) yield Buffer.from(chunk);
}
