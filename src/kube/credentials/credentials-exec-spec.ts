// The two documents of the exec plugin protocol (client.authentication.k8s.io): the plugin's entry
// in a kubeconfig, and the plugin's output.
import type { WallMs } from "../../environment/clock.ts";
import {
  isRecord,
  listAt,
  MalformedObjectError,
  optionalBoolean,
  optionalString,
  optionalTime,
  type RawRecord,
  recordAt,
  requiredRecord,
  requiredString,
  stringsAt,
} from "../kinds/fields.ts";
import { CredentialsError } from "./credentials.ts";
import type { Identity } from "./credentials-identity.ts";

export interface ExecSpec {
  /** The kubeconfig's user, for messages. */
  readonly user: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly apiVersion: string;
  /** Shown when the program is not installed. */
  readonly installHint: string | undefined;
  /** Sent to the plugin when the kubeconfig asks for it. */
  readonly cluster: ExecClusterInfo | undefined;
}

/** The cluster as a plugin sees it, without its certificate authority. */
export interface ExecClusterInfo {
  readonly server: string;
  readonly "tls-server-name"?: string;
  readonly "insecure-skip-tls-verify"?: boolean;
  /** From the cluster's extension for exec plugins. */
  readonly config?: unknown;
}

const apiVersions = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];

const interactiveModes = ["Never", "IfAvailable", "Always"];

export function parseExecSpec(user: string, exec: unknown, cluster: ExecClusterInfo): ExecSpec {
  const fields = requiredRecord(exec, `exec of user "${user}"`);
  const apiVersion = requiredString(fields, "apiVersion");
  if (!apiVersions.includes(apiVersion)) {
    const message = `the credential plugin of user "${user}" has an apiVersion that is not supported`;
    throw new CredentialsError("UNSUPPORTED", `${message}; use one of: ${apiVersions.join(", ")}`);
  }
  refuseTerminal(user, optionalString(fields, "interactiveMode") || "IfAvailable");
  return {
    user,
    command: requiredString(fields, "command"),
    args: stringsAt(fields, "args"),
    environment: variablesOf(fields),
    apiVersion,
    installHint: optionalString(fields, "installHint"),
    cluster: optionalBoolean(fields, "provideClusterInfo") ? cluster : undefined,
  };
}

function refuseTerminal(user: string, interactiveMode: string): void {
  if (!interactiveModes.includes(interactiveMode)) {
    throw new MalformedObjectError(`interactiveMode should be ${interactiveModes.join(", ")}`);
  }
  if (interactiveMode !== "Always") return;
  const message = `the credential plugin of user "${user}" needs a terminal, but there is none`;
  throw new CredentialsError("UNSUPPORTED", message);
}

/** The content of `KUBERNETES_EXEC_INFO`. The authority of the cluster is PEM. */
export function execInfo({ apiVersion, cluster }: ExecSpec, authority: string | undefined): string {
  const data = authority === undefined ? undefined : Buffer.from(authority).toString("base64");
  const clusterInfo = cluster && { cluster: { ...cluster, "certificate-authority-data": data } };
  return JSON.stringify({
    kind: "ExecCredential",
    apiVersion,
    spec: { ...clusterInfo, interactive: false },
  });
}

/** The output of a plugin. Its content is secret and appears in no message. */
export function parseExecCredential(
  spec: ExecSpec,
  output: string,
): { identity: Identity; expiresAt: WallMs | undefined } {
  const credential = parseObject(spec, output);
  if (credential["kind"] !== "ExecCredential" || credential["apiVersion"] !== spec.apiVersion) {
    throw badOutput(spec, `is not an ExecCredential of ${spec.apiVersion}`);
  }
  const status = recordAt(credential, "status");
  const token = optionalString(status, "token");
  const cert = optionalString(status, "clientCertificateData");
  const key = optionalString(status, "clientKeyData");
  if ((cert === undefined) !== (key === undefined)) {
    throw badOutput(spec, "has only one of client certificate and key");
  }
  if (token === undefined && cert === undefined) {
    throw badOutput(spec, "has neither a token nor a client certificate");
  }
  const identity: Identity = {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
  return { identity, expiresAt: optionalTime(status, "expirationTimestamp") };
}

function parseObject(spec: ExecSpec, output: string): RawRecord {
  let parsed: unknown;
  try {
    parsed = JSON.parse(output);
  } catch {
    // The parser's message quotes the text, and the text is a secret.
    throw badOutput(spec, "is not JSON");
  }
  if (isRecord(parsed)) return parsed;
  throw badOutput(spec, "is not a JSON object");
}

function badOutput({ user, command }: ExecSpec, what: string): CredentialsError {
  const message = `what the credential plugin ${command} of user "${user}" printed ${what}`;
  return new CredentialsError("PLUGIN_FAILED", message);
}

/** The names are the file's own, `__proto__` among them, which an assignment would lose. */
function variablesOf(fields: RawRecord): Record<string, string> {
  const variables = listAt(fields, "env").map((item) => {
    const variable = requiredRecord(item, "an item of env");
    return [requiredString(variable, "name"), optionalString(variable, "value") ?? ""] as const;
  });
  return Object.fromEntries(variables);
}
