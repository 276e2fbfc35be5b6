// The only source of chance. In a simulation it is seeded, so that a run can be repeated.

export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** A random (version 4) UUID. */
  uuid(): string;
}

/** A uniformly chosen whole number in [0, below). */
export function randomInt(random: Random, below: number): number {
  return Math.floor(random.next() * below);
}

/** Uniform in [from, to). */
export function randomBetween(random: Random, from: number, to: number): number {
  return from + random.next() * (to - from);
}

/** `ms` stretched by a factor uniform in [1, 1 + maxFactor), as wait.Jitter in client-go does. */
export function jitter(random: Random, ms: number, maxFactor: number): number {
  return ms * (1 + random.next() * maxFactor);
}
