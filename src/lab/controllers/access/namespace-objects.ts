// The objects that every namespace has: the default ServiceAccount, and the ConfigMap with the root
// certificate of the API server. Two controllers of one form; each restores its missing object.
import { isDeepStrictEqual } from "node:util";
import { StatusError } from "../../../kube/client/client.ts";
import type { RawRecord } from "../../../kube/kinds/fields.ts";
import { collectionPath, objectPath } from "../../../kube/kinds/kind.ts";
import { type ControllerOptions, controllerQueue, runController } from "../controller.ts";
import type { Informer } from "../informer.ts";
import {
  revised,
  typeOf,
  type WholeKind,
  type WholeObject,
  wholeConfigMaps,
  wholeServiceAccounts,
} from "../whole-object.ts";

/** pkg/controller/serviceaccount and certificates/rootcacertpublisher. */
const workers = 1;

const requestDeadlineMs = 30_000;

const rootCaName = "kube-root-ca.crt";

const rootCaAnnotation =
  "Contains a CA bundle that can be used to verify the kube-apiserver when using internal " +
  "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is " +
  "guaranteed across distributions of Kubernetes clusters.";

interface NamespaceObject {
  readonly name: string;
  readonly kind: WholeKind;
  /** Beside its name and its kind. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly fields: RawRecord;
  readonly queue: string;
  readonly controller: string;
  readonly source: string;
}

/** Works until the signal aborts. */
export function runServiceAccountController(
  options: ControllerOptions,
  signal: AbortSignal,
): Promise<void> {
  const kept = {
    name: "default",
    kind: wholeServiceAccounts,
    annotations: {},
    fields: {},
    queue: "serviceaccount",
    controller: "serviceaccount-controller",
    source: "serviceaccounts_controller.go:195",
  };
  return keepEverywhere(options, kept, options.informers.serviceAccounts(), signal);
}

/** Works until the signal aborts. */
export function runRootCaPublisher(
  options: ControllerOptions,
  rootCa: string,
  signal: AbortSignal,
): Promise<void> {
  const kept = {
    name: rootCaName,
    kind: wholeConfigMaps,
    annotations: { "kubernetes.io/description": rootCaAnnotation },
    fields: { data: { "ca.crt": rootCa } },
    queue: "root_ca_cert_publisher",
    controller: "root-ca-certificate-publisher-controller",
    source: "publisher.go:168",
  };
  return keepEverywhere(options, kept, options.informers.configMaps(), signal);
}

async function keepEverywhere(
  options: ControllerOptions,
  kept: NamespaceObject,
  objects: Informer<WholeObject, never>,
  signal: AbortSignal,
): Promise<void> {
  const namespaces = options.informers.namespaces();
  const queue = controllerQueue(options, kept.queue);
  namespaces.onChange(({ type, object }) => {
    if (type !== "deleted") queue.add(object.metadata.name);
  });
  objects.onChange(({ object: { metadata } }) => {
    if (metadata.name === kept.name) queue.add(metadata.namespace);
  });
  const sync = async (namespace: string, stop: AbortSignal): Promise<void> => {
    if (namespaces.store.get("", namespace)?.phase !== "Active") return;
    await put(options, kept, namespace, objects.store.get(namespace, kept.name), stop);
  };
  const { source } = kept;
  const words = {
    source,
    key: "namespace",
    retrying: "Unhandled Error",
    dropped: "Unhandled Error",
  };
  const failure = { ...words, verbosity: 0 };
  await runController(options, { queue, workers, sync, name: kept.controller, failure }, signal);
}

async function put(
  { client }: ControllerOptions,
  { name, kind, annotations, fields }: NamespaceObject,
  namespace: string,
  current: WholeObject | undefined,
  signal: AbortSignal,
): Promise<void> {
  const limits = { deadlineMs: requestDeadlineMs, signal };
  if (current !== undefined) {
    const isSame = Object.keys(fields).every((field) =>
      isDeepStrictEqual(current.raw[field], fields[field]),
    );
    if (isSame) return;
    const path = objectPath(kind, current.metadata);
    const body = revised(kind, current, { fields });
    await client.request({ verb: "update", method: "PUT", path, body, ...limits });
    return;
  }
  const metadata = { name, namespace, annotations };
  const body = { ...typeOf(kind), metadata, ...fields };
  try {
    const path = collectionPath(kind, namespace);
    await client.request({ verb: "create", method: "POST", path, body, ...limits });
  } catch (error) {
    // It is there by another's hand, or its namespace is gone or going: nothing is missing.
    if (!(error instanceof StatusError) || ![403, 404, 409].includes(error.code)) throw error;
  }
}
