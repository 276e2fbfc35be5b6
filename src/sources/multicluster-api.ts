// The Multi-Cluster Services API of one cluster (multicluster.x-k8s.io, KEP-1645): the version that it
// serves, and the fields that it stores. Its definitions may be missing, be older, or come later.
import { type KubeClient, parseJson, StatusError } from "../kube/client/client.ts";
import {
  isRecord,
  listAt,
  optionalString,
  type RawRecord,
  recordAt,
} from "../kube/kinds/fields.ts";
import { multiclusterGroup } from "../kube/kinds/service-export.ts";

/** The API has had two, with the same fields as far as they matter here. */
const knownVersions: readonly string[] = ["v1beta1", "v1alpha1"];

/** So long an installed definition may stay unnoticed. */
export const lookAgainMs = 30_000;

const requestDeadlineMs = 10_000;

/** The newest served version that has this kind; undefined where there is none. */
export async function servedVersion(
  client: KubeClient,
  resource: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const group = await get(client, `/apis/${multiclusterGroup}`, signal);
  const versions = group === undefined ? [] : listAt(group, "versions").filter(isRecord);
  const served = versions.map((one) => one["version"]);
  for (const version of knownVersions.filter((one) => served.includes(one))) {
    const list = await get(client, `/apis/${multiclusterGroup}/${version}`, signal);
    const resources = list === undefined ? [] : listAt(list, "resources").filter(isRecord);
    if (resources.some(({ name }) => name === resource)) return version;
  }
  return undefined;
}

/**
 * The fields of `spec` and `status` in the definition of a kind: an API server drops all others.
 * Undefined where that cannot be read, or where every field is stored.
 */
export async function storedFields(
  client: KubeClient,
  version: string,
  kind: string,
  signal: AbortSignal,
): Promise<(part: "spec" | "status") => ReadonlySet<string> | undefined> {
  const path = `/openapi/v3/apis/${multiclusterGroup}/${version}`;
  const document = await get(client, path, signal, [403]);
  if (document === undefined) return () => undefined;
  const schemas = recordAt(recordAt(document, "components"), "schemas");
  const schema = Object.values(schemas).find((one) => isRecord(one) && isKind(one, version, kind));
  return (part) => {
    if (!isRecord(schema)) return undefined;
    const found = recordAt(schema, "properties")[part];
    if (!isRecord(found) || found["x-kubernetes-preserve-unknown-fields"] === true)
      return undefined;
    return new Set(Object.keys(recordAt(found, "properties")));
  };
}

function isKind(schema: RawRecord, version: string, kind: string): boolean {
  return listAt(schema, "x-kubernetes-group-version-kind")
    .filter(isRecord)
    .some(
      (one) =>
        optionalString(one, "group") === multiclusterGroup &&
        optionalString(one, "version") === version &&
        optionalString(one, "kind") === kind,
    );
}

/** Undefined for what the API server does not have. */
async function get(
  client: KubeClient,
  path: string,
  signal: AbortSignal,
  absentCodes: readonly number[] = [],
): Promise<RawRecord | undefined> {
  const limits = { deadlineMs: requestDeadlineMs, signal };
  try {
    const answer = parseJson(await client.request({ verb: "get", method: "GET", path, ...limits }));
    return isRecord(answer) ? answer : undefined;
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    if (error.code === 404 || absentCodes.includes(error.code)) return undefined;
    throw error;
  }
}
