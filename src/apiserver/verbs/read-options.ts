// The query of a get, list, watch or deletecollection, parsed and checked.
import { badRequest } from "../decode/body.ts";
import { isTrue } from "../http/route.ts";
import type { ResourceKind } from "../kinds/resource-kind.ts";
import type { KubeObject } from "../kube-object.ts";
import type { ListRequest } from "../listwatch/list-plan.ts";
import type { WatchRequest } from "../listwatch/watch-plan.ts";
import { matchesFields, parseFieldSelector } from "../select/field-selector.ts";
import { matchesRequirements, parseLabelSelector } from "../select/label-selector.ts";

interface Scope {
  readonly kind: ResourceKind;
  readonly namespace: string | undefined;
  readonly query: URLSearchParams;
}

export function readListRequest(scope: Scope): ListRequest {
  const { namespace, query } = scope;
  const initial = query.get("sendInitialEvents");
  // A list does not wait, but its options are read like those of a watch.
  readInteger(query, "timeoutSeconds");
  return {
    namespace,
    matches: readSelectors(scope),
    ...(initial === null ? {} : { sendInitialEvents: isTrue(initial) }),
    limit: readInteger(query, "limit"),
    continueToken: query.get("continue") ?? undefined,
    resourceVersion: query.get("resourceVersion") ?? undefined,
    resourceVersionMatch: query.get("resourceVersionMatch") ?? undefined,
  };
}

export function readWatchRequest(scope: Scope, clientName: string): WatchRequest {
  const { namespace, query } = scope;
  const initial = query.get("sendInitialEvents");
  return {
    namespace,
    matches: readSelectors(scope),
    resourceVersion: query.get("resourceVersion") ?? undefined,
    resourceVersionMatch: query.get("resourceVersionMatch") ?? undefined,
    sendInitialEvents: initial === null ? undefined : isTrue(initial),
    allowWatchBookmarks: isTrue(query.get("allowWatchBookmarks")),
    timeoutSeconds: readInteger(query, "timeoutSeconds"),
    clientName,
  };
}

/** Undefined when the query selects everything. */
export function readSelectors({
  kind,
  query,
}: Scope): ((object: KubeObject) => boolean) | undefined {
  const labels = parseLabelSelector(query.get("labelSelector") ?? "");
  const fields = parseFieldSelector(query.get("fieldSelector") ?? "", kind);
  if (labels.length === 0 && fields.length === 0) {
    return undefined;
  }
  return (object) =>
    matchesRequirements(labels, object.metadata.labels ?? {}) && matchesFields(fields, object);
}

export function readInteger(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) {
    return undefined;
  }
  const isNumber = /^[+-]?\d+$/.test(text);
  const value = BigInt(isNumber ? text.replace("+", "") : 0);
  if (!isNumber || BigInt.asIntN(64, value) !== value) {
    const problem = isNumber ? "value out of range" : "invalid syntax";
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: ${problem}`);
  }
  return Number(value);
}
