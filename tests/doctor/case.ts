// A text with the cause that has to be named first, and the pieces that cases are written with.
import { readdirSync, readFileSync } from "node:fs";

export interface DoctorCase {
  readonly name: string;
  readonly text: string;
  /** Undefined: nothing above `info`. */
  readonly first: string | undefined;
  /** Causes below the first one or beside it. */
  readonly also?: readonly string[];
  /** Causes that are open, with something missing. */
  readonly open?: readonly string[];
  /** Causes that it looks like and that it has not. */
  readonly not?: readonly string[];
  /** The cause that the doctor does not find; `first` is undefined. */
  readonly missed?: string | undefined;
  /** Of Kubernetes, where the text shows the formats of one: `1.18`. */
  readonly version?: string | undefined;
}

export const repeat = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => line(index)).join("\n");

export const two = (value: number): string => String(value).padStart(2, "0");

/** Below its head a case is the pasted text; the head is `cause: NAME` and so on. */
export function casesIn(folder: URL): readonly DoctorCase[] {
  return readdirSync(folder)
    .sort()
    .map((file) => {
      const whole = readFileSync(new URL(file, folder), "utf8");
      const end = whole.indexOf("\n----\n");
      const head = new Map(
        whole
          .slice(0, end)
          .split("\n")
          .map((line) => [line.split(": ")[0], line.split(": ")[1]]),
      );
      const list = (key: string): readonly string[] => head.get(key)?.split(", ") ?? [];
      const cause = head.get("cause");
      return {
        name: file.replace(/\.txt$/, "").replaceAll("-", " "),
        text: whole.slice(end + "\n----\n".length),
        // A miss stays among the texts, with the cause that has to be named.
        first: cause === "none" || head.has("missed") ? undefined : cause,
        missed: head.has("missed") ? cause : undefined,
        also: list("also"),
        open: list("open"),
        not: list("not"),
        version: head.get("version"),
      };
    });
}
