// The parameters of operations, by what they are for: clients learn from their names what a server
// understands.

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query";
  readonly type: "boolean" | "integer" | "string";
}

export const objectName: Parameter = { name: "name", in: "path", type: "string" };
export const namespace: Parameter = { name: "namespace", in: "path", type: "string" };
export const pretty = query("pretty");
export const writing = [query("dryRun"), query("fieldManager"), query("fieldValidation")];
export const deleting = [
  query("dryRun"),
  query("gracePeriodSeconds", "integer"),
  query("orphanDependents", "boolean"),
  query("propagationPolicy"),
];
export const selecting = [
  query("continue"),
  query("fieldSelector"),
  query("labelSelector"),
  query("limit", "integer"),
  query("resourceVersion"),
  query("resourceVersionMatch"),
  query("sendInitialEvents", "boolean"),
  query("timeoutSeconds", "integer"),
];
export const watching = [query("allowWatchBookmarks", "boolean"), query("watch", "boolean")];
export const logging = [
  query("container"),
  query("follow", "boolean"),
  query("limitBytes", "integer"),
  query("previous", "boolean"),
  query("sinceSeconds", "integer"),
  query("tailLines", "integer"),
  query("timestamps", "boolean"),
];

export function query(name: string, type: Parameter["type"] = "string"): Parameter {
  return { name, in: "query", type };
}
