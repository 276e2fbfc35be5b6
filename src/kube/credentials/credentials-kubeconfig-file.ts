// Finding, reading and merging kubeconfig files. `@kubernetes/client-node` understands their format;
// which files count, and which entry wins when two have one name, follow kubectl: files that are
// absent are passed over, and the first to say something is right.
import { dirname } from "node:path";
import type { KubeConfig } from "@kubernetes/client-node";
import { parse } from "yaml";
import type { Files } from "../../environment/files.ts";
import type { Processes } from "../../environment/processes.ts";
import { isRecord } from "../kinds/fields.ts";
import { CredentialsError } from "./credentials.ts";

export interface KubeconfigFileOptions {
  readonly files: Files;
  readonly processes: Processes;
  /** Absolute; the files in $KUBECONFIG, or else ~/.kube/config, when absent. */
  readonly path?: string | undefined;
}

/** What KubeConfig does not keep of a user. */
export interface UserPlace {
  /** The folder of its file: relative paths start there. */
  readonly directory: string;
  readonly tokenFile: string | undefined;
}

export interface MergedKubeconfig {
  readonly config: KubeConfig;
  readonly userPlaces: ReadonlyMap<string, UserPlace>;
  /** The files it was read from, for messages. */
  readonly paths: readonly string[];
}

export async function readKubeconfig(options: KubeconfigFileOptions): Promise<MergedKubeconfig> {
  const wanted = pathsOf(options);
  // Loaded here and not above: it costs half a second and 70 MB, and not every command needs it.
  const { KubeConfig } = await import("@kubernetes/client-node");
  const merged = new KubeConfig();
  const userPlaces = new Map<string, UserPlace>();
  const paths: string[] = [];
  for (const path of wanted) {
    const text = await readText(options.files, path);
    if (text === undefined) continue;
    paths.push(path);
    const document = parseDocument(path, text);
    if (document === undefined) continue;
    const config = new KubeConfig();
    loading(path, () => config.loadFromString(text));
    config.makePathsAbsolute(dirname(path));
    for (const { name } of config.users) {
      if (userPlaces.has(name)) continue;
      userPlaces.set(name, { directory: dirname(path), tokenFile: tokenFileOf(document, name) });
    }
    mergeAbsent(merged, config);
  }
  if (paths.length > 0) return { config: merged, userPlaces, paths };
  const looked = wanted.length === 0 ? "HOME is not set" : `looked for ${wanted.join(", ")}`;
  throw new CredentialsError(
    "UNREADABLE",
    `there is no kubeconfig (${looked}); name one with --kubeconfig or $KUBECONFIG`,
  );
}

function pathsOf({ path, processes }: KubeconfigFileOptions): readonly string[] {
  if (path !== undefined) return [path];
  const named = (processes.variables["KUBECONFIG"] ?? "").split(":").filter((one) => one !== "");
  if (named.length > 0) return named;
  const home = processes.variables["HOME"];
  return home === undefined ? [] : [`${home}/.kube/config`];
}

async function readText(files: Files, path: string): Promise<string | undefined> {
  try {
    const content = await files.read(path);
    return content === undefined ? undefined : Buffer.from(content).toString("utf8");
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CredentialsError("UNREADABLE", `the kubeconfig: ${why}`, { cause: error });
  }
}

/** Undefined for an empty file, which kubectl takes as a kubeconfig without entries. */
function parseDocument(path: string, text: string): Readonly<Record<string, unknown>> | undefined {
  const document: unknown = loading(path, () => parse(text));
  if (document === null || document === undefined) return undefined;
  if (isRecord(document)) return document;
  throw new CredentialsError("MALFORMED", `the kubeconfig ${path} is not a YAML object`);
}

function loading<Value>(path: string, load: () => Value): Value {
  try {
    return load();
  } catch (error) {
    // Only the first line: the rest of a YAML error quotes the file, and the file holds secrets.
    const why = (error instanceof Error ? error.message : String(error)).split("\n")[0];
    throw new CredentialsError("MALFORMED", `the kubeconfig ${path} is malformed: ${why}`);
  }
}

/** Kubernetes spells it `tokenFile`; KubeConfig looks for `token-file` only. */
function tokenFileOf(
  document: Readonly<Record<string, unknown>>,
  userName: string,
): string | undefined {
  const users: unknown = document["users"];
  if (!Array.isArray(users)) return undefined;
  for (const entry of users) {
    if (!isRecord(entry) || entry["name"] !== userName || !isRecord(entry["user"])) continue;
    const path = entry["user"]["tokenFile"];
    return typeof path === "string" && path !== "" ? path : undefined;
  }
  return undefined;
}

/** Adds what is not there yet; KubeConfig's own merge refuses a name that is. */
function mergeAbsent(merged: KubeConfig, next: KubeConfig): void {
  next.clusters = next.clusters.filter(({ name }) => !hasName(merged.clusters, name));
  next.users = next.users.filter(({ name }) => !hasName(merged.users, name));
  next.contexts = next.contexts.filter(({ name }) => !hasName(merged.contexts, name));
  const hasCurrent = (merged.currentContext ?? "") !== "";
  merged.mergeConfig(next, hasCurrent);
}

function hasName(entries: readonly { readonly name: string }[], name: string): boolean {
  return entries.some((entry) => entry.name === name);
}
