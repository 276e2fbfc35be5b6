// While the story is told, only what needs somebody's attention is logged beside it.
import type { Log } from "../environment/log.ts";

/** In an incident warnings are the subject, and are told in other words. */
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
