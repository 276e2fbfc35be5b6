// The Events of controllers, as both sides must have them: component, object, reason and message.
// The counts are left out, and so are Events that depend on a race.
import { optionalString, type RawRecord, recordAt } from "../../../src/kube/kinds/fields.ts";
import { list, type Side } from "./side.ts";

/** Two writers met, or one came too late: each side has its own luck. */
const races = /the object has been modified|not found|already exists|StorageError/;

/** Generated names end with five characters of this set. */
const generatedName = /-[bcdfghjklmnpqrstvwxz2456789]{5}\b/g;

export async function eventsOf({ client }: Side): Promise<readonly string[]> {
  const events = await list(client, "/api/v1/events");
  // Those of the server itself name no component.
  const fromComponents = events.filter((event) => componentOf(event) !== undefined);
  const texts = fromComponents.map(inWords).filter((text) => !races.test(text));
  return [...new Set(texts)].sort();
}

function inWords(event: RawRecord): string {
  const object = recordAt(event, "involvedObject");
  const message = inOrder(optionalString(event, "message") ?? "").replaceAll(generatedName, "-*");
  const where = `${object["kind"]} ${object["namespace"]}/${object["name"]}`;
  return `${componentOf(event)}: ${where}: ${event["type"]} ${event["reason"]}: ${message}`;
}

/** Several errors stand in brackets, in the order in which the pods were looked at. */
function inOrder(message: string): string {
  return message.replace(
    /\[(.*)\]$/,
    (_, errors: string) => `[${errors.split(", ").sort().join(", ")}]`,
  );
}

function componentOf(event: RawRecord): string | undefined {
  return optionalString(recordAt(event, "source"), "component");
}
