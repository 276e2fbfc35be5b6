// While the story is told, only what needs somebody's attention is logged beside it.
import type { Log } from "../../environment/log.ts";

export function warningsOnly(log: Log): Log {
  return {
    debug: () => undefined,
    info: () => undefined,
    warn: (message, fields) => log.warn(message, fields),
    error: (message, fields) => log.error(message, fields),
    child: (fields) => warningsOnly(log.child(fields)),
  };
}
