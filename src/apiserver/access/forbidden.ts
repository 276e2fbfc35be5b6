// The refusal of a request that its user may not make, in the words of the real server.
import { ApiError } from "../api-error.ts";
import { qualifiedResource } from "../kinds/resource-kind.ts";
import type { Access, Attributes } from "./attributes.ts";

export function forbidden({ user, attributes }: Access, reason: string): ApiError {
  const sentence = escaped(sentenceOf(user.name, attributes));
  const why = reason === "" ? sentence : `${sentence}: ${reason}`;
  if (attributes.type === "path") return new ApiError(403, "Forbidden", `forbidden: ${why}`, {});
  return forbiddenObject(attributes, attributes.name, why);
}

/** `name` is "" for a collection and for an object that is being created. */
export function forbiddenObject(
  { group, resource }: { readonly group: string; readonly resource: string },
  name: string,
  why: string,
): ApiError {
  const subject = name === "" ? "" : ` ${JSON.stringify(name)}`;
  const message = `${qualifiedResource({ group, resource })}${subject} is forbidden: ${why}`;
  return new ApiError(403, "Forbidden", message, {
    ...(name === "" ? {} : { name }),
    ...(group === "" ? {} : { group }),
    kind: resource,
  });
}

function sentenceOf(user: string, attributes: Attributes): string {
  const who = `User ${JSON.stringify(user)} cannot ${attributes.verb}`;
  if (attributes.type === "path") return `${who} path ${JSON.stringify(attributes.path)}`;
  const { resource, subresource, group, namespace } = attributes;
  const what = subresource === "" ? resource : `${resource}/${subresource}`;
  const where =
    namespace === "" ? "at the cluster scope" : `in the namespace ${JSON.stringify(namespace)}`;
  return `${who} resource ${JSON.stringify(what)} in API group ${JSON.stringify(group)} ${where}`;
}

/** So that a name in a message cannot become markup of a page that shows it. */
function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
