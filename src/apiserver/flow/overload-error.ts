// The refusal of a server that has too much to do. The real one sends it as plain text, before
// anything of the request was looked at.
import { ApiError } from "../api-error.ts";

export class OverloadError extends ApiError {
  /** The body of the answer. */
  readonly text = "Too many requests, please try again later.\n";

  constructor(retryAfterSeconds: number) {
    super(429, "TooManyRequests", "Too many requests, please try again later.", {
      retryAfterSeconds,
    });
  }
}
