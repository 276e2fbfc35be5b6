// Node's errors carry what happened in `code`; TypeScript does not know it of a caught value.

/** `ECONNREFUSED`, `ENOENT`, `ERR_TLS_CERT_ALTNAME_INVALID`, …; undefined when there is none. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
