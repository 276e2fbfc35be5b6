// The identity of a lock's holder, and what it tells about the process. Lockstep's replicas name
// their pod and its uid, so that any client can check whether they exist. Others name their pod, or
// their host name followed by a random UUID, which looks the same but proves less.

/** The identity of a replica that runs in a pod. */
export function podIdentity(podName: string, podUid: string): string {
  return `${podName}_${podUid}`;
}

/** The identity of a replica outside any pod: never to be mistaken for one that names a pod. */
export function outsideIdentity(hostName: string, uuid: string): string {
  return `outside/${hostName}_${uuid}`;
}

export type NamedHolder =
  /** Exactly this pod. */
  | { readonly kind: "pod"; readonly name: string; readonly uid: string }
  /** A pod of this name, whatever its uid; and hardly anything else has such a name. */
  | { readonly kind: "pod-name"; readonly name: string };

/** `own` identities were made by `podIdentity`; all others are `foreign`. */
export type IdentityForm = "own" | "foreign";

/** Undefined when the identity does not provably name a pod: then nothing follows from its absence. */
export function namedHolder(identity: string, form: IdentityForm): NamedHolder | undefined {
  const [, name, uuid] = identityParts.exec(identity) ?? [];
  if (name === undefined) return undefined;
  if (form === "own") return uuid === undefined ? undefined : { kind: "pod", name, uid: uuid };
  const isGenerated = generatedSuffix.test(name) && name.length < truncatedHostNameLength;
  return isGenerated ? { kind: "pod-name", name } : undefined;
}

const identityParts =
  /^([a-z0-9](?:[-a-z0-9]*[a-z0-9])?)(?:_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}))?$/;

/**
 * The suffix that the API server appends to `generateName`. A name without it may be that of a
 * node, of a machine outside the cluster, or one given by hand.
 */
const generatedSuffix = /-[bcdfghjklmnpqrstvwxz2456789]{5}$/;

/** A host name holds 63 characters; a longer pod name is cut and may lose a little more. */
const truncatedHostNameLength = 60;
