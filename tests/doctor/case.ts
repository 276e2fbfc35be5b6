// A text with the cause that has to be named first, and the pieces that cases are written with.

export interface DoctorCase {
  readonly name: string;
  readonly text: string;
  /** Undefined: nothing above `info`. */
  readonly first: string | undefined;
  /** Causes below the first one or beside it. */
  readonly also?: readonly string[];
  /** Causes that are open, with something missing. */
  readonly open?: readonly string[];
}

export const repeat = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => line(index)).join("\n");

export const two = (value: number): string => String(value).padStart(2, "0");
