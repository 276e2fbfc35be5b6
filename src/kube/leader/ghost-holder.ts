// Checks whether the holder of a lock exists. It uses quorum reads (no resourceVersion), so that
// "absent" is true now and not from an old cache. Any failure gives "unknown": a missing permission
// must never make a living leader a ghost.
import type { KubeClient } from "../client/client.ts";
import { parseJson, StatusError } from "../client/client.ts";
import { listAt, optionalString, recordAt, requiredRecord } from "../kinds/fields.ts";
import { type IdentityForm, type NamedHolder, namedHolder } from "./leader-identity.ts";
import type { RequestLimits } from "./lease-lock.ts";

export interface Presence {
  readonly kind: "present" | "absent" | "unknown";
  /** A clause that says what was asked and answered, for people. */
  readonly evidence: string;
}

export interface HolderQuestion {
  readonly identity: string;
  readonly form: IdentityForm;
  /** Where its pod would be; everywhere when absent, which needs the permission to list all pods. */
  readonly podNamespace: string | undefined;
}

/** Never throws. */
export async function findHolder(
  client: KubeClient,
  question: HolderQuestion,
  limits: RequestLimits,
): Promise<Presence> {
  const holder = namedHolder(question.identity, question.form);
  if (holder === undefined) {
    return { kind: "unknown", evidence: `${question.identity} is not clearly the name of a pod` };
  }
  try {
    return await findPod(client, holder, question.podNamespace, limits);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { kind: "unknown", evidence: `looking for pod ${holder.name} failed: ${why}` };
  }
}

/** Pods are listed by name rather than got: a 404 can have other causes than a missing pod. */
async function findPod(
  client: KubeClient,
  holder: NamedHolder,
  namespace: string | undefined,
  limits: RequestLimits,
): Promise<Presence> {
  const root = namespace === undefined ? "/api/v1" : `/api/v1/namespaces/${namespace}`;
  const path = `${root}/pods?fieldSelector=${encodeURIComponent(`metadata.name=${holder.name}`)}`;
  const answer = await client.request({ verb: "list", method: "GET", path, ...limits });
  const uids = podUids(parseJson(answer), holder.name);
  const place = namespace === undefined ? "the cluster" : `namespace ${namespace}`;
  if (holder.kind === "pod") {
    if (uids.includes(holder.uid)) return present(`pod ${holder.name} exists in ${place}`);
    return uids.length === 0
      ? absent(`no pod ${holder.name} in ${place}`)
      : absent(`the pod ${holder.name} in ${place} is another one: it has uid ${uids.join(", ")}`);
  }
  if (uids.length > 0) return present(`pod ${holder.name} exists in ${place}`);
  if (await isNode(client, holder.name, limits)) return present(`node ${holder.name} exists`);
  return absent(`no pod ${holder.name} in ${place} and no node of that name`);
}

function podUids(list: unknown, name: string): readonly string[] {
  const items = listAt(requiredRecord(list, "a list of pods"), "items");
  return items
    .map((item) => recordAt(requiredRecord(item, "a pod"), "metadata"))
    .filter((metadata) => metadata["name"] === name)
    .map((metadata) => optionalString(metadata, "uid") ?? "");
}

/** A pod in its node's network namespace has the node's host name. */
async function isNode(client: KubeClient, name: string, limits: RequestLimits): Promise<boolean> {
  const path = `/api/v1/nodes/${name}`;
  try {
    await client.request({ verb: "get", method: "GET", path, ...limits });
    return true;
  } catch (error) {
    if (error instanceof StatusError && error.reason === "NotFound") return false;
    throw error;
  }
}

function present(evidence: string): Presence {
  return { kind: "present", evidence };
}

function absent(evidence: string): Presence {
  return { kind: "absent", evidence };
}
