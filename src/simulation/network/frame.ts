// The frames in a channel. An exchange is: `open`, then data up and down; the answer begins with
// `head`; each body ends with `end`. `reset` and `refused` are the two ways in which it breaks.
// `credit` reports to the sender of a body how much the receiver has taken.
import type { Headers } from "../../environment/network.ts";

export type Frame =
  | { readonly kind: "open"; readonly method: string; readonly target: string; headers: Headers }
  | { readonly kind: "head"; readonly status: number; readonly headers: Headers }
  | { readonly kind: "data"; readonly bytes: Uint8Array }
  | { readonly kind: "end" }
  | { readonly kind: "credit"; readonly bytes: number }
  | { readonly kind: "reset" }
  | { readonly kind: "refused" };

/** For the trace: everything of the frame but its bytes. */
export function frameText(frame: Frame): string {
  switch (frame.kind) {
    case "open":
      return `${frame.method} ${frame.target}${headersText(frame.headers)}`;
    case "head":
      return `${frame.status}${headersText(frame.headers)}`;
    case "credit":
      return `credit ${frame.bytes}`;
    case "data":
    case "end":
    case "reset":
    case "refused":
      return frame.kind;
  }
}

const upperCase = /[A-Z]/;

/** As they arrive over a real connection; the same object when they are so already. */
export function lowerCaseNames(headers: Headers): Headers {
  for (const name in headers) {
    if (!upperCase.test(name)) continue;
    const lowered = Object.entries(headers).map(([key, value]) => [key.toLowerCase(), value]);
    return Object.fromEntries(lowered);
  }
  return headers;
}

function headersText(headers: Headers): string {
  let text = "";
  for (const name in headers) text += `\n${name}: ${headers[name]}`;
  return text;
}
