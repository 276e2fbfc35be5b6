// Secrets of the type service-account-token. A user creates one that names an account to get a token
// that does not expire; the controller fills it, and deletes it with the account.

import {
  legacyClaims,
  signToken,
  type TokenKey,
} from "../../../components/service-account-tokens.ts";
import { StatusError } from "../../../kube/client/client.ts";
import { optionalString, recordAt } from "../../../kube/kinds/fields.ts";
import { objectKey, objectPath, splitObjectKey } from "../../../kube/kinds/kind.ts";
import { type ControllerOptions, controllerQueue, runController } from "../controller.ts";
import { revised, type WholeObject, wholeSecrets } from "../whole-object.ts";

export interface TokenSecretsOptions extends ControllerOptions {
  readonly tokenKey: TokenKey;
  /** PEM. */
  readonly rootCa: string | undefined;
}

const secretType = "kubernetes.io/service-account-token";
const nameAnnotation = "kubernetes.io/service-account.name";
const uidAnnotation = "kubernetes.io/service-account.uid";

/** `--concurrent-serviceaccount-token-syncs`. */
const workers = 5;

const requestDeadlineMs = 30_000;

/** Works until the signal aborts. */
export async function runTokenSecrets(
  options: TokenSecretsOptions,
  signal: AbortSignal,
): Promise<void> {
  const { informers } = options;
  const secrets = informers.secrets();
  const accounts = informers.serviceAccounts();
  const queue = controllerQueue(options, "serviceaccount_tokens_secret");
  secrets.onChange(({ type, object }) => {
    if (type !== "deleted" && isTokenSecret(object)) queue.add(objectKey(object.metadata));
  });
  accounts.onChange(({ object: { metadata } }) => {
    for (const secret of secrets.store) {
      const isOfAccount =
        secret.metadata.namespace === metadata.namespace &&
        secret.annotations[nameAnnotation] === metadata.name;
      if (isOfAccount && isTokenSecret(secret)) queue.add(objectKey(secret.metadata));
    }
  });
  const sync = async (key: string, stop: AbortSignal): Promise<void> => {
    const { namespace, name } = splitObjectKey(key);
    const secret = secrets.store.get(namespace, name);
    if (secret === undefined || !isTokenSecret(secret)) return;
    const account = accounts.store.get(namespace, secret.annotations[nameAnnotation] ?? "");
    if (isOrphan(secret, account)) await remove(options, secret, stop);
    else if (account !== undefined) await fill(options, secret, account, stop);
  };
  const failure = {
    source: "tokens_controller.go:379",
    key: "key",
    retrying: "Unhandled Error",
    dropped: "Unhandled Error",
    verbosity: 0,
  };
  const name = "serviceaccount-token-controller";
  await runController(options, { queue, workers, sync, name, failure }, signal);
}

function isTokenSecret({ raw }: WholeObject): boolean {
  return optionalString(raw, "type") === secretType;
}

/** Its account is gone, or another of the same name has come. */
function isOrphan({ annotations }: WholeObject, account: WholeObject | undefined): boolean {
  const uid = annotations[uidAnnotation] ?? "";
  return account === undefined || (uid !== "" && uid !== account.metadata.uid);
}

async function remove(
  { client }: TokenSecretsOptions,
  { metadata }: WholeObject,
  signal: AbortSignal,
): Promise<void> {
  const path = objectPath(wholeSecrets, metadata);
  const body = { preconditions: { uid: metadata.uid } };
  const limits = { deadlineMs: requestDeadlineMs, signal };
  try {
    await client.request({ verb: "delete", method: "DELETE", path, body, ...limits });
  } catch (error) {
    // Gone already, or another has taken its name.
    if (!(error instanceof StatusError) || ![404, 409].includes(error.code)) throw error;
  }
}

async function fill(
  { client, tokenKey, rootCa }: TokenSecretsOptions,
  secret: WholeObject,
  { metadata: { namespace, name, uid } }: WholeObject,
  signal: AbortSignal,
): Promise<void> {
  const data = recordAt(secret.raw, "data");
  const isFull =
    optionalString(data, "token") !== undefined &&
    optionalString(data, "namespace") !== undefined &&
    (rootCa === undefined || optionalString(data, "ca.crt") === encoded(rootCa)) &&
    secret.annotations[uidAnnotation] === uid;
  if (isFull) return;
  const claims = legacyClaims({ namespace, name, uid, secret: secret.metadata.name });
  const token = optionalString(data, "token") ?? encoded(signToken(tokenKey, claims));
  const ca = rootCa === undefined ? {} : { "ca.crt": encoded(rootCa) };
  await client.request({
    verb: "update",
    method: "PUT",
    path: objectPath(wholeSecrets, secret.metadata),
    body: revised(wholeSecrets, secret, {
      annotations: { ...secret.annotations, [uidAnnotation]: uid },
      fields: { data: { ...data, ...ca, namespace: encoded(namespace), token } },
    }),
    deadlineMs: requestDeadlineMs,
    signal,
  });
}

function encoded(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}
