// Access to the clusters of a kubeconfig, by context. An unsupported setting is an error and is
// never ignored: without its proxy or its impersonation a request would go to the wrong place or
// have the wrong permissions.
import { dirname, resolve } from "node:path";
import type { Clock } from "../../environment/clock.ts";
import type { Log } from "../../environment/log.ts";
import { MalformedObjectError } from "../kinds/fields.ts";
import { type ClusterAccess, CredentialsError, type CredentialsErrorCode } from "./credentials.ts";
import { ExecIdentity } from "./credentials-exec.ts";
import { type ExecSpec, parseExecSpec } from "./credentials-exec-spec.ts";
import { AssembledAccess, type IdentitySource, storedIdentity } from "./credentials-identity.ts";
import {
  type KubeconfigCluster,
  type KubeconfigPem,
  type KubeconfigUser,
  quoted,
} from "./credentials-kubeconfig-document.ts";
import {
  type Kubeconfig,
  type KubeconfigFileOptions,
  readKubeconfig,
} from "./credentials-kubeconfig-file.ts";
import { FileText, fixedText, type TextSource } from "./credentials-text.ts";

/** The parts that read and renew credentials. */
type Pieces = Pick<KubeconfigFileOptions, "files" | "processes"> & {
  readonly clock: Clock;
  readonly log: Log;
};

export interface KubeconfigOptions extends KubeconfigFileOptions, Pieces {
  /** Names of contexts, in the order wanted. */
  readonly contexts: "all" | "current" | readonly string[];
}

/** One access for each context. Rejects with a `CredentialsError` that says what to change. */
export async function kubeconfigAccess(
  options: KubeconfigOptions,
): Promise<readonly ClusterAccess[]> {
  const kubeconfig = await readKubeconfig(options);
  return contextNames(kubeconfig, options.contexts).map((name) =>
    contextAccess(kubeconfig, name, options),
  );
}

function contextNames(
  { contexts, currentContext, paths }: Kubeconfig,
  wanted: KubeconfigOptions["contexts"],
): readonly string[] {
  if (contexts.size === 0) {
    throw new CredentialsError("NOT_FOUND", `the kubeconfig ${paths.join(":")} has no contexts`);
  }
  if (wanted === "all") return [...contexts.keys()];
  if (wanted !== "current") return wanted;
  if (currentContext !== undefined) return [currentContext];
  const message = `the kubeconfig ${paths.join(":")} has no current context; choose one of`;
  throw new CredentialsError("NOT_FOUND", `${message}: ${listed(contexts)}`);
}

/** Throws a `CredentialsError` that says what to change. */
export function contextAccess(kubeconfig: Kubeconfig, name: string, pieces: Pieces): ClusterAccess {
  const context = kubeconfig.contexts.get(name);
  if (context === undefined) throw notFound(kubeconfig, "context", name);
  if (context.cluster === undefined) {
    throw wrong("MALFORMED", context, `context ${quoted(name)}: cluster is missing`);
  }
  const cluster = kubeconfig.clusters.get(context.cluster);
  if (cluster === undefined) throw notFound(kubeconfig, "cluster", context.cluster, name);
  const named = `cluster ${quoted(context.cluster)}`;
  if (cluster.proxyUrl !== undefined) throw unsupported(cluster, `${named}: proxy-url`);
  const server = serverOf(cluster, named);
  const ca = pem(cluster, `${named}: certificate-authority`, cluster.authority, pieces);
  return new AssembledAccess({
    name,
    server,
    ca,
    serverName: cluster.serverName,
    insecureSkipVerify: cluster.insecureSkipVerify,
    // A context without a user is anonymous, as in kubectl.
    identity:
      context.user === undefined
        ? storedIdentity({})
        : identityOf(kubeconfig, { name, user: context.user, cluster, server, ca }, pieces),
  });
}

function serverOf(cluster: KubeconfigCluster, named: string): string {
  const { server } = cluster;
  if (server === undefined) throw wrong("MALFORMED", cluster, `${named}: server is missing`);
  const url = URL.canParse(server) ? new URL(server) : undefined;
  const isPlain =
    url !== undefined && `${url.username}${url.password}${url.search}${url.hash}` === "";
  if (isPlain && ["https:", "http:"].includes(url.protocol)) return server;
  const advice = "server should be a URL such as https://10.0.0.1:6443";
  throw wrong("MALFORMED", cluster, `${named}: ${advice}`);
}

interface AskedIdentity {
  /** Of the context. */
  readonly name: string;
  readonly user: string;
  readonly cluster: KubeconfigCluster;
  readonly server: string;
  readonly ca: TextSource | undefined;
}

function identityOf(
  kubeconfig: Kubeconfig,
  { name, user: userName, cluster, server, ca }: AskedIdentity,
  pieces: Pieces,
): IdentitySource {
  const user = kubeconfig.users.get(userName);
  if (user === undefined) throw notFound(kubeconfig, "user", userName, name);
  const named = `user ${quoted(userName)}`;
  refuseUnsupported(user, named);
  refuseContradictions(user, named);
  const token = tokenOf(user, named, pieces);
  const basic = basicOf(user);
  // A plugin is not asked where there is a token or a password, as in client-go.
  if (user.exec !== undefined && token === undefined && basic === undefined) {
    const spec = execSpec(user, userName, { ...cluster, server });
    return new ExecIdentity({ ...pieces, spec, authority: ca });
  }
  return storedIdentity({
    token,
    basic,
    cert: pem(user, `${named}: client-certificate`, user.certificate, pieces),
    key: pem(user, `${named}: client-key`, user.key, pieces),
  });
}

function refuseUnsupported(user: KubeconfigUser, named: string): void {
  if (user.impersonates) throw unsupported(user, `${named}: impersonation (as)`);
  if (user.authProvider === undefined) return;
  const message = `${named}: auth-provider is not supported, nor by kubectl since 1.26`;
  throw wrong("UNSUPPORTED", user, `${message}; use the exec plugin of the provider`);
}

function refuseContradictions(user: KubeconfigUser, named: string): void {
  const hasToken = user.token !== undefined || user.tokenFile !== undefined;
  if (hasToken && basicOf(user) !== undefined) {
    throw wrong("MALFORMED", user, `${named}: it has a token and a password; remove one of them`);
  }
  if (isSet(user.certificate) && !isSet(user.key)) {
    throw wrong("MALFORMED", user, `${named}: client-certificate needs client-key`);
  }
}

function isSet({ data, file }: KubeconfigPem): boolean {
  return data !== undefined || file !== undefined;
}

/** The file wins over the token beside it, as in client-go: it is the one that is renewed. */
function tokenOf(user: KubeconfigUser, named: string, pieces: Pieces): TextSource | undefined {
  const { token, tokenFile } = user;
  if (tokenFile === undefined) return token === undefined ? undefined : fixedText(token.trim());
  return new FileText({ ...pieces, path: tokenFile, what: `the token of ${named}` });
}

function execSpec(
  user: KubeconfigUser,
  userName: string,
  cluster: KubeconfigCluster & { readonly server: string },
): ExecSpec {
  try {
    const spec = parseExecSpec(userName, user.exec, {
      server: cluster.server,
      ...(cluster.serverName === undefined ? {} : { "tls-server-name": cluster.serverName }),
      ...(cluster.insecureSkipVerify ? { "insecure-skip-tls-verify": true } : {}),
      ...(cluster.execConfig === undefined ? {} : { config: cluster.execConfig }),
    });
    // A bare name is looked up on the PATH; anything with a slash starts at the kubeconfig's folder.
    if (!spec.command.includes("/")) return spec;
    return { ...spec, command: resolve(dirname(user.path), spec.command) };
  } catch (error) {
    if (error instanceof CredentialsError) throw wrong(error.code, user, error.message);
    if (!(error instanceof MalformedObjectError)) throw error;
    throw wrong("MALFORMED", user, `user ${quoted(userName)}: exec: ${error.message}`);
  }
}

/** The data in the kubeconfig wins over the file it names, as in kubectl. */
function pem(
  entry: Entry,
  what: string,
  { data, file }: KubeconfigPem,
  pieces: Pieces,
): TextSource | undefined {
  if (data === undefined) {
    return file === undefined ? undefined : new FileText({ ...pieces, path: file, what });
  }
  const text = Buffer.from(data, "base64").toString("utf8");
  if (text.includes("-----BEGIN")) return fixedText(text);
  throw wrong("MALFORMED", entry, `${what}-data is not PEM in base64`);
}

function basicOf({ username, password }: KubeconfigUser): string | undefined {
  if (username === undefined && password === undefined) return undefined;
  return Buffer.from(`${username ?? ""}:${password ?? ""}`).toString("base64");
}

/** More names than these are not read. */
const namesMost = 10;

function listed(entries: ReadonlyMap<string, unknown>): string {
  const names = [...entries.keys()].slice(0, namesMost).map(plainName);
  const rest = entries.size - names.length;
  return `${names.join(", ") || "none"}${rest > 0 ? ` and ${rest} more` : ""}`;
}

function plainName(name: string): string {
  return /^[\x21-\x7e]{1,100}$/.test(name) ? name : quoted(name);
}

function notFound(
  kubeconfig: Kubeconfig,
  kind: "context" | "cluster" | "user",
  name: string,
  contextName?: string,
): CredentialsError {
  const asked = contextName === undefined ? "" : `, which context ${quoted(contextName)} refers to`;
  const message = `the kubeconfig ${kubeconfig.paths.join(":")} has no ${kind} ${quoted(name)}`;
  const existing = listed(kubeconfig[`${kind}s`]);
  return new CredentialsError("NOT_FOUND", `${message}${asked}; available: ${existing}`);
}

/** With the file that it is in. */
interface Entry {
  readonly path: string;
}

function unsupported(entry: Entry, what: string): CredentialsError {
  return wrong("UNSUPPORTED", entry, `${what} is not supported`);
}

function wrong(code: CredentialsErrorCode, { path }: Entry, what: string): CredentialsError {
  return new CredentialsError(code, `the kubeconfig ${path}: ${what}`);
}
