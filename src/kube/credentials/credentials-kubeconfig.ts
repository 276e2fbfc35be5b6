// Access to the clusters of a kubeconfig, by context. Whatever the file asks for that we do not do
// is an error and never ignored: without its proxy or its impersonation a request would go to the
// wrong place or with the wrong rights.
import { isAbsolute, join } from "node:path";
import type { Cluster, KubeConfig, User } from "@kubernetes/client-node";
import type { Clock } from "../../environment/clock.ts";
import type { Log } from "../../environment/log.ts";
import { MalformedObjectError } from "../kinds/fields.ts";
import { type ClusterAccess, CredentialsError } from "./credentials.ts";
import { ExecIdentity } from "./credentials-exec.ts";
import { type ExecClusterInfo, type ExecSpec, parseExecSpec } from "./credentials-exec-spec.ts";
import { AssembledAccess, type IdentitySource, storedIdentity } from "./credentials-identity.ts";
import {
  type KubeconfigFileOptions,
  type MergedKubeconfig,
  readKubeconfig,
  type UserPlace,
} from "./credentials-kubeconfig-file.ts";
import { FileText, fixedText, type TextSource } from "./credentials-text.ts";

export interface KubeconfigOptions extends KubeconfigFileOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Names of contexts, in the order wanted. */
  readonly contexts: "all" | "current" | readonly string[];
}

/** One access for each context. Rejects with a `CredentialsError` that says what to change. */
export async function kubeconfigAccess(
  options: KubeconfigOptions,
): Promise<readonly ClusterAccess[]> {
  const kubeconfig = await readKubeconfig(options);
  return contextNames(kubeconfig, options.contexts).map((name) =>
    accessOf(kubeconfig, name, options),
  );
}

function contextNames(
  { config, paths }: MergedKubeconfig,
  wanted: KubeconfigOptions["contexts"],
): readonly string[] {
  const names = config.contexts.map(({ name }) => name);
  if (names.length === 0) {
    throw new CredentialsError("NOT_FOUND", `the kubeconfig ${paths.join(":")} has no contexts`);
  }
  if (wanted === "all") return names;
  if (wanted !== "current") return wanted;
  if ((config.currentContext ?? "") !== "") return [config.currentContext];
  const message = `the kubeconfig has no current context; choose one of: ${names.join(", ")}`;
  throw new CredentialsError("NOT_FOUND", message);
}

function accessOf(
  { config, userPlaces }: MergedKubeconfig,
  name: string,
  options: KubeconfigOptions,
): ClusterAccess {
  const context = config.getContextObject(name);
  if (context === null) throw notFound("context", name, config.contexts);
  const cluster = config.getCluster(context.cluster);
  if (cluster === null) throw notFound("cluster", context.cluster, config.clusters, name);
  if (cluster.proxyUrl) {
    throw unsupported(`cluster "${cluster.name}" is reached through a proxy (proxy-url)`);
  }
  const ca = `the certificate authority of cluster "${cluster.name}"`;
  return new AssembledAccess({
    name,
    server: cluster.server,
    ca: pem(ca, cluster.caData, cluster.caFile, options),
    serverName: cluster.tlsServerName || undefined,
    insecureSkipVerify: cluster.skipTLSVerify,
    identity: identityOf(config, context.user, cluster, userPlaces, options, name),
  });
}

function identityOf(
  config: KubeConfig,
  userName: string | undefined,
  cluster: Cluster,
  userPlaces: ReadonlyMap<string, UserPlace>,
  options: KubeconfigOptions,
  contextName: string,
): IdentitySource {
  // A context without a user is anonymous, as in kubectl.
  if (!userName) return storedIdentity({});
  const user = config.getUser(userName);
  if (user === null) throw notFound("user", userName, config.users, contextName);
  refuseUnsupported(user);
  const place = userPlaces.get(userName);
  if (user.exec) {
    const { processes, clock } = options;
    return new ExecIdentity({ processes, clock, spec: execSpec(user, cluster, place) });
  }
  return storedIdentity({
    token: tokenOf(user, place, options),
    basic: user.username ? base64(`${user.username}:${user.password ?? ""}`) : undefined,
    cert: pem(`the certificate of user "${userName}"`, user.certData, user.certFile, options),
    key: pem(`the key of user "${userName}"`, user.keyData, user.keyFile, options),
  });
}

function refuseUnsupported(user: User): void {
  if (user.impersonateUser) throw unsupported(`user "${user.name}" impersonates another (as)`);
  if (user.authProvider) {
    throw unsupported(
      `user "${user.name}" has an auth-provider, which kubectl dropped in 1.26; ` +
        "use the provider's exec plugin instead",
    );
  }
}

/** The file wins over the token beside it, as in client-go: it is the one that is renewed. */
function tokenOf(
  user: User,
  place: UserPlace | undefined,
  options: KubeconfigOptions,
): TextSource | undefined {
  if (place?.tokenFile !== undefined) {
    const path = absolute(place.directory, place.tokenFile);
    return new FileText({ ...options, path, what: `the token of user "${user.name}"` });
  }
  return user.token ? fixedText(user.token.trim()) : undefined;
}

function execSpec(user: User, cluster: Cluster, place: UserPlace | undefined): ExecSpec {
  const info: ExecClusterInfo = {
    server: cluster.server,
    ...(cluster.tlsServerName ? { "tls-server-name": cluster.tlsServerName } : {}),
    ...(cluster.skipTLSVerify ? { "insecure-skip-tls-verify": true } : {}),
    ...(cluster.caData ? { "certificate-authority-data": cluster.caData } : {}),
  };
  try {
    const spec = parseExecSpec(user.name, user.exec, info);
    // A bare name is looked up on the PATH; anything with a slash starts at the kubeconfig's folder.
    const isBare = !spec.command.includes("/");
    if (isBare || place === undefined) return spec;
    return { ...spec, command: absolute(place.directory, spec.command) };
  } catch (error) {
    if (!(error instanceof MalformedObjectError)) throw error;
    const message = `the exec section of user "${user.name}" is malformed: ${error.message}`;
    throw new CredentialsError("MALFORMED", message, { cause: error });
  }
}

/** The data in the kubeconfig wins over the file it names, as in kubectl. */
function pem(
  what: string,
  data: string | undefined,
  path: string | undefined,
  options: KubeconfigOptions,
): TextSource | undefined {
  if (!data) return path ? new FileText({ ...options, path, what }) : undefined;
  const text = Buffer.from(data, "base64").toString("utf8");
  if (text.includes("-----BEGIN")) return fixedText(text);
  throw new CredentialsError("MALFORMED", `${what} is not PEM in base64`);
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

function absolute(directory: string, path: string): string {
  return isAbsolute(path) ? path : join(directory, path);
}

function notFound(
  kind: "context" | "cluster" | "user",
  name: string,
  existing: readonly { readonly name: string }[],
  contextName?: string,
): CredentialsError {
  const asked = contextName === undefined ? "" : `, which context "${contextName}" refers to`;
  const names = existing.map((entry) => entry.name).join(", ") || "none";
  const message = `the kubeconfig has no ${kind} "${name}"${asked}; it has: ${names}`;
  return new CredentialsError("NOT_FOUND", message);
}

function unsupported(what: string): CredentialsError {
  return new CredentialsError("UNSUPPORTED", `${what}, which is not supported`);
}
