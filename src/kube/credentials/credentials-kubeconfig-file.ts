// Finding, reading and merging kubeconfig files. Which files count, and which entry wins when two
// have one name, follow kubectl: absent files are skipped, and the first file that has an entry or a
// current context wins.
import { resolve } from "node:path";
import type { Files } from "../../environment/files.ts";
import type { Processes } from "../../environment/processes.ts";
import { CredentialsError } from "./credentials.ts";
import { type KubeconfigDocument, parseKubeconfig } from "./credentials-kubeconfig-document.ts";
import { readBounded } from "./credentials-text.ts";

export interface KubeconfigFileOptions {
  readonly files: Files;
  readonly processes: Processes;
  /** Absolute; the files in $KUBECONFIG, or else ~/.kube/config, when absent. */
  readonly path?: string | undefined;
}

export interface Kubeconfig extends KubeconfigDocument {
  /** The files it was read from, for messages. */
  readonly paths: readonly string[];
}

/** A thousand clusters with certificates of both sides take 10 MB. */
const fileBytesMax = 32_000_000;

/** Rejects with a `CredentialsError` that says what to change. */
export async function readKubeconfig(options: KubeconfigFileOptions): Promise<Kubeconfig> {
  const wanted = pathsOf(options);
  const documents: KubeconfigDocument[] = [];
  const paths: string[] = [];
  for (const path of wanted) {
    const content = await readContent(options.files, path);
    if (content === undefined) continue;
    paths.push(path);
    documents.push(parseKubeconfig(path, content));
  }
  if (paths.length > 0) return { ...merged(documents), paths };
  const looked =
    wanted.length === 0 ? "KUBECONFIG and HOME are not set" : `looked for ${wanted.join(", ")}`;
  throw new CredentialsError(
    "UNREADABLE",
    `there is no kubeconfig (${looked}); name one with --kubeconfig or $KUBECONFIG`,
  );
}

/** A KUBECONFIG without any name in it, such as `:`, keeps kubectl from the home folder too. */
function pathsOf({ path, processes }: KubeconfigFileOptions): readonly string[] {
  if (path !== undefined) return [path];
  const { KUBECONFIG: listed = "", HOME: home = "" } = processes.variables;
  if (listed === "") return home === "" ? [] : [`${home}/.kube/config`];
  const named = listed.split(":").filter((one) => one !== "");
  return [...new Set(named.map((one) => resolve(one)))];
}

/** Undefined when there is no such file. */
async function readContent(files: Files, path: string): Promise<Buffer | undefined> {
  try {
    return await readBounded(files, path, fileBytesMax);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CredentialsError("UNREADABLE", `the kubeconfig: ${why}`, { cause: error });
  }
}

function merged(documents: readonly KubeconfigDocument[]): KubeconfigDocument {
  return {
    currentContext: documents.find((one) => one.currentContext !== undefined)?.currentContext,
    contexts: firstOfEach(documents.map(({ contexts }) => contexts)),
    clusters: firstOfEach(documents.map(({ clusters }) => clusters)),
    users: firstOfEach(documents.map(({ users }) => users)),
  };
}

/** An entry wins as a whole: fields of a later one are not added to it. */
function firstOfEach<Entry>(
  maps: readonly ReadonlyMap<string, Entry>[],
): ReadonlyMap<string, Entry> {
  const first = new Map<string, Entry>();
  for (const [name, entry] of maps.flatMap((map) => [...map])) {
    if (!first.has(name)) first.set(name, entry);
  }
  return first;
}
