// A path as an HTTPRoute writes it, percent-encoded, in the form in which the proxy has paths.

/** As many characters as the API server takes. */
const maxLength = 1_024;

/** Undefined for one that no request can have as it is meant, or that would be another path to a server. */
export function decodedPath(written: string): string | undefined {
  if (written.length > maxLength || /[?#\\]|%2f/i.test(written)) return undefined;
  try {
    const path = decodeURIComponent(written);
    const isPlain = /^\/[^\p{Cc}\p{Surrogate}\\]*$/u.test(path);
    return isPlain && !/\/\.{1,2}(\/|$)|\/\//.test(path) ? path : undefined;
  } catch {
    return undefined;
  }
}
