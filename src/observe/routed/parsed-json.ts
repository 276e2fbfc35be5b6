// The JSON of an answer that may be anything, also an error page.

/** Undefined when it is no JSON; the caller says what the answer is not. */
export function parsedJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
