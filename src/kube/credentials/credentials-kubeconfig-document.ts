// The content of one kubeconfig file, as kubectl reads it: unknown fields are ignored, null counts as
// absent, paths start at the file's folder, and a value of the wrong type makes the file malformed.
// Whether an entry is complete is checked when a context uses it, so that it breaks no other context.
import { dirname, resolve } from "node:path";
import {
  isRecord,
  listAt,
  MalformedObjectError,
  optionalBoolean,
  optionalRecordAt,
  type RawRecord,
  recordAt,
} from "../kinds/fields.ts";
import { parseYaml, YamlProblem } from "../yaml/yaml-document.ts";
import { CredentialsError } from "./credentials.ts";

export interface KubeconfigDocument {
  readonly currentContext: string | undefined;
  readonly contexts: ReadonlyMap<string, KubeconfigContext>;
  readonly clusters: ReadonlyMap<string, KubeconfigCluster>;
  readonly users: ReadonlyMap<string, KubeconfigUser>;
}

/** An empty string counts as absent in every field, as in kubectl. Paths are absolute. */
export interface KubeconfigContext {
  /** The file that the entry is in, for messages. */
  readonly path: string;
  readonly cluster: string | undefined;
  readonly user: string | undefined;
}

export interface KubeconfigCluster {
  readonly path: string;
  readonly server: string | undefined;
  readonly authority: KubeconfigPem;
  readonly insecureSkipVerify: boolean;
  readonly serverName: string | undefined;
  readonly proxyUrl: string | undefined;
  /** Given to exec plugins that ask for it; in any form. */
  readonly execConfig: unknown;
}

export interface KubeconfigUser {
  readonly path: string;
  readonly certificate: KubeconfigPem;
  readonly key: KubeconfigPem;
  readonly token: string | undefined;
  readonly tokenFile: string | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly exec: RawRecord | undefined;
  readonly authProvider: RawRecord | undefined;
  readonly impersonates: boolean;
}

/** The data wins over the file, as in kubectl. */
export interface KubeconfigPem {
  /** In base64. */
  readonly data: string | undefined;
  readonly file: string | undefined;
}

/** The extension of a cluster that holds the configuration of exec plugins. */
const execExtension = "client.authentication.k8s.io/exec";

const impersonationFields = ["as", "as-uid", "as-groups", "as-user-extra"];

/** Throws a `CredentialsError` that names the file and the entry, and quotes no value: it may be secret. */
export function parseKubeconfig(path: string, content: Buffer): KubeconfigDocument {
  try {
    // kubectl reads an empty file as a kubeconfig without entries.
    const document = parseYaml(content).document ?? {};
    if (!isRecord(document)) throw new MalformedObjectError("it is not a YAML object");
    refuseOtherKinds(document);
    return {
      currentContext: textAt(document, "current-context"),
      contexts: entriesOf(document, "context", (fields) => contextOf(path, fields)),
      clusters: entriesOf(document, "cluster", (fields) => clusterOf(path, fields)),
      users: entriesOf(document, "user", (fields) => userOf(path, fields)),
    };
  } catch (error) {
    const why = reasonOf(error);
    if (why === undefined) throw error;
    throw new CredentialsError("MALFORMED", `the kubeconfig ${path} is malformed: ${why}`);
  }
}

function reasonOf(error: unknown): string | undefined {
  if (error instanceof YamlProblem) return error.unquoted;
  return error instanceof MalformedObjectError ? error.message : undefined;
}

function refuseOtherKinds(document: RawRecord): void {
  const apiVersion = textAt(document, "apiVersion") ?? "v1";
  const kind = textAt(document, "kind") ?? "Config";
  if (apiVersion === "v1" && kind === "Config") return;
  throw new MalformedObjectError(
    `it is ${quoted(kind)} of apiVersion ${quoted(apiVersion)}, not Config of v1`,
  );
}

/** The entries of `users`, say: a list of a name and a `user` each. */
function entriesOf<Entry>(
  document: RawRecord,
  kind: "context" | "cluster" | "user",
  parse: (fields: RawRecord) => Entry,
): ReadonlyMap<string, Entry> {
  const entries = new Map<string, Entry>();
  for (const [index, item] of listAt(document, `${kind}s`).entries()) {
    const place = `${kind}s[${index}]`;
    if (!isRecord(item))
      throw new MalformedObjectError(`${place} should have a name and a ${kind}`);
    const name = inPlace(place, () => textAt(item, "name"));
    if (name === undefined) throw new MalformedObjectError(`${place} has no name`);
    const named = `${kind} ${quoted(name)}`;
    if (entries.has(name)) throw new MalformedObjectError(`it has two entries for ${named}`);
    entries.set(
      name,
      inPlace(named, () => parse(recordAt(item, kind))),
    );
  }
  return entries;
}

function inPlace<Value>(place: string, parse: () => Value): Value {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof MalformedObjectError)) throw error;
    throw new MalformedObjectError(`${place}: ${error.message}`, { cause: error });
  }
}

function contextOf(path: string, fields: RawRecord): KubeconfigContext {
  return { path, cluster: textAt(fields, "cluster"), user: textAt(fields, "user") };
}

function clusterOf(path: string, fields: RawRecord): KubeconfigCluster {
  return {
    path,
    server: textAt(fields, "server"),
    authority: pemOf(path, fields, "certificate-authority"),
    insecureSkipVerify: optionalBoolean(fields, "insecure-skip-tls-verify") ?? false,
    serverName: textAt(fields, "tls-server-name"),
    proxyUrl: textAt(fields, "proxy-url"),
    execConfig: extensionOf(fields),
  };
}

function userOf(path: string, fields: RawRecord): KubeconfigUser {
  return {
    path,
    certificate: pemOf(path, fields, "client-certificate"),
    key: pemOf(path, fields, "client-key"),
    token: textAt(fields, "token"),
    tokenFile: pathAt(path, fields, "tokenFile"),
    username: textAt(fields, "username"),
    password: textAt(fields, "password"),
    exec: optionalRecordAt(fields, "exec"),
    authProvider: optionalRecordAt(fields, "auth-provider"),
    impersonates: impersonationFields.some((field) => !isEmpty(fields[field])),
  };
}

function pemOf(path: string, fields: RawRecord, field: string): KubeconfigPem {
  return { data: textAt(fields, `${field}-data`), file: pathAt(path, fields, field) };
}

function extensionOf(cluster: RawRecord): unknown {
  const found = listAt(cluster, "extensions").find(
    (item) => isRecord(item) && item["name"] === execExtension,
  );
  return isRecord(found) ? found["extension"] : undefined;
}

function pathAt(kubeconfig: string, fields: RawRecord, field: string): string | undefined {
  const path = textAt(fields, field);
  return path === undefined ? undefined : resolve(dirname(kubeconfig), path);
}

/** `12` and `no` without quotes are no strings, in passwords and names least expected. */
function textAt(fields: RawRecord, field: string): string | undefined {
  const value = fields[field];
  if (isNothing(value)) return undefined;
  if (typeof value === "string") return value;
  const isScalar = typeof value === "number" || typeof value === "boolean";
  const advice = isScalar ? `not a ${typeof value}; put it in quotes` : "and is none";
  throw new MalformedObjectError(`${field} should be a string, ${advice}`);
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null || value === "";
}

function isEmpty(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return isNothing(value);
  return Object.keys(value).length === 0;
}

/** Enough to recognise a name. */
const quotedLength = 100;

/** Between quotes, with characters spelled out that a terminal would obey or hide. */
export function quoted(name: string): string {
  const cut = name.length > quotedLength ? `${name.slice(0, quotedLength)}…` : name;
  return JSON.stringify(cut).replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}
