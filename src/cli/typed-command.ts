// How a command of this program is typed. It runs from a checkout, which puts nothing on the PATH, so
// a hint that is to be copied names it as `npx` finds it; help texts name the command alone.

/** `npx lockstep watch --history`. */
export function typedCommand(words: string): string {
  return `npx lockstep ${words}`;
}
