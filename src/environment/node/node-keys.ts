// Keys that are pressed in the terminal, each as it comes and not only with the end of a line. The
// terminal is as it was before when the last listener has gone, and when the process ends.

/** Ctrl-C, which in this mode is a key like any other. */
const interrupt = "\u0003";

/** Never calls the listener if standard input is no terminal. */
export function nodeKeys(listener: (key: string) => void): () => void {
  const { stdin } = process;
  if (!stdin.isTTY) return () => undefined;
  const restore = (): void => void stdin.setRawMode(false);
  const onData = (bytes: Buffer): void => {
    const key = bytes.toString("utf8");
    if (key === interrupt) process.kill(process.pid, "SIGINT");
    else listener(key);
  };
  stdin.setRawMode(true);
  stdin.on("data", onData);
  process.on("exit", restore);
  return () => {
    stdin.off("data", onData);
    process.off("exit", restore);
    stdin.pause();
    restore();
  };
}
