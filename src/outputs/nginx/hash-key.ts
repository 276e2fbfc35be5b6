// The key of a request whose route balances by hash: the twin of what proxy/lua/lockstep/pick.lua
// reads from nginx's variables. A part that the twin cannot know is empty, as in nginx.
import type { HashPart } from "../../decide/route-policy.ts";

export interface KeyedRequest {
  readonly method: string;
  /** With its query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
}

export function hashKey(parts: readonly HashPart[], request: KeyedRequest): string {
  return parts
    .map((part) => ("text" in part ? part.text : variableOf(part.variable, request)))
    .join("");
}

function variableOf(variable: string, { method, target, headers }: KeyedRequest): string {
  const { pathname, search, searchParams } = new URL(target, "http://request");
  const [, kind = variable, name = ""] = /^(http|cookie|arg)_(.+)$/.exec(variable) ?? [];
  switch (kind) {
    case "http":
      return headers[name.replaceAll("_", "-").toLowerCase()] ?? "";
    case "cookie":
      return cookieOf(headers["cookie"] ?? "", name);
    case "arg":
      return searchParams.get(name) ?? "";
    case "request_uri":
      return target;
    case "uri":
      return pathname;
    case "args":
      return search.slice(1);
    case "host":
    case "server_name":
      return (headers["host"] ?? "").replace(/:\d+$/, "").toLowerCase();
    case "request_method":
      return method;
    case "scheme":
      return "http";
    default:
      return "";
  }
}

function cookieOf(header: string, name: string): string {
  const pairs = header.split(";").map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1) ?? "";
}
