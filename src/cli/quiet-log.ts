// A log with less: only warnings or errors, for commands that report their state in sentences.
import type { Log } from "../environment/log.ts";

/** In an incident, warnings are expected. */
export function errorsOnly(log: Log): Log {
  return {
    ...warningsOnly(log),
    warn: () => undefined,
    child: (one) => errorsOnly(log.child(one)),
  };
}

export function warningsOnly(log: Log): Log {
  return {
    debug: () => undefined,
    info: () => undefined,
    warn: (message, fields) => log.warn(message, fields),
    error: (message, fields) => log.error(message, fields),
    child: (fields) => warningsOnly(log.child(fields)),
  };
}
