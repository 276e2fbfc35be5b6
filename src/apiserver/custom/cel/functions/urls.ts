// Kubernetes' `url()`: an absolute URL or an absolute path, taken apart as Go's net/url does.
import { hasControlCharacter } from "../../runes.ts";
import { define, defineMethod, type Overload } from "../overloads.ts";
import { CelError, ListValue, MapValue, OpaqueValue } from "../values.ts";

class Url extends OpaqueValue {
  readonly typeName = "kubernetes.URL";
  readonly text: string;
  readonly scheme: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;

  constructor(text: string) {
    super();
    const [, scheme = "", host = "", path = "", query = ""] = urlPattern.exec(text) ?? [];
    this.text = text;
    this.scheme = scheme.toLowerCase();
    this.host = host.slice(host.indexOf("@") + 1);
    this.path = path;
    this.query = query;
  }

  get hostname(): string {
    return this.host.replace(/:\d*$/, "").replace(/^\[(.*)\]$/, "$1");
  }

  get port(): string {
    return /:(\d*)$/.exec(this.host)?.[1] ?? "";
  }

  equals(other: OpaqueValue): boolean {
    return other instanceof Url && other.text === this.text;
  }

  override toString(): string {
    return this.text;
  }
}

const urlPattern = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/([^/?]*))?([^?]*)(?:\?(.*))?$/s;

export const urls: readonly Overload[] = [
  define("url(string) kubernetes.URL", toUrl),
  define("isURL(string) bool", isUrl),
  defineMethod("getScheme(kubernetes.URL) string", (url: Url) => url.scheme),
  defineMethod("getHost(kubernetes.URL) string", (url: Url) => url.host),
  defineMethod("getHostname(kubernetes.URL) string", (url: Url) => url.hostname),
  defineMethod("getPort(kubernetes.URL) string", (url: Url) => url.port),
  defineMethod("getEscapedPath(kubernetes.URL) string", (url: Url) => encodeURI(decode(url.path))),
  defineMethod("getQuery(kubernetes.URL) map(string, list(string))", queryOf),
];

function toUrl(text: string): Url {
  if (isUrl(text)) return new Url(text);
  const quoted = JSON.stringify(text);
  throw new CelError(
    `URL parse error during conversion from string: parse ${quoted}: invalid URI for request`,
  );
}

function isUrl(text: string): boolean {
  if (hasControlCharacter(text)) return false;
  if (/%(?![0-9a-fA-F]{2})/.test(text.split("?", 1)[0] ?? "")) return false;
  const { scheme, host, path } = new Url(text);
  if (!/^(\[[0-9a-fA-F:.%]+\]|[^[\]:\s]*)(:\d*)?$/.test(host)) return false;
  return text.startsWith("/") || (scheme !== "" && (path.startsWith("/") || host !== ""));
}

function queryOf({ query }: Url): MapValue {
  const values = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(query)) {
    values.set(name, [...(values.get(name) ?? []), value]);
  }
  return new MapValue([...values].map(([name, all]) => [name, new ListValue(all)] as const));
}

function decode(path: string): string {
  try {
    return decodeURI(path);
  } catch (error) {
    if (error instanceof URIError) return path;
    throw error;
  }
}
