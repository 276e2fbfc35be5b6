// Installs published definitions on two servers and sends both the published examples.
import type { AskedServers, Difference } from "./compare.ts";
import { compareAnswers } from "./compare.ts";
import type { PublishedApi, PublishedObject } from "./published-definitions.ts";
import { type CaseReport, collect, install } from "./run-cases.ts";

/** Where objects of a kind are. */
interface Place {
  readonly plural: string;
  readonly isNamespaced: boolean;
}

export async function comparePublished(
  servers: AskedServers,
  api: PublishedApi,
): Promise<CaseReport> {
  const places = new Map<string, Place>();
  const definitions = api.definitions.map(({ object }) => object);
  await install(servers, definitions);
  for (const [kind, place] of definitions.flatMap(placesOf)) places.set(kind, place);
  const cases = api.examples.flatMap((example, at) => {
    const { apiVersion, kind } = example.object;
    const place = places.get(`${String(apiVersion)} ${String(kind)}`);
    return place === undefined ? [] : [() => compareExample(servers, example, place, at)];
  });
  return collect(cases);
}

/** All examples are created in one namespace, under different names. */
function compareExample(
  servers: AskedServers,
  { file, object }: PublishedObject,
  { plural, isNamespaced }: Place,
  at: number,
): Promise<Difference | undefined> {
  const scope = isNamespaced ? "namespaces/default/" : "";
  const { namespace: _, ...metadata } = recordAt(object, "metadata");
  const body = { ...object, metadata: { ...metadata, name: `example-${at}` } };
  const path = `/apis/${String(object["apiVersion"])}/${scope}${plural}`;
  return compareAnswers(file, servers, { method: "POST", path, body });
}

function placesOf(definition: Record<string, unknown>): readonly (readonly [string, Place])[] {
  const spec = recordAt(definition, "spec");
  const { plural, kind } = recordAt(spec, "names");
  const versions = Array.isArray(spec["versions"]) ? spec["versions"] : [];
  const place = { plural: String(plural), isNamespaced: spec["scope"] === "Namespaced" };
  return versions.map((version: { readonly name: string }) => [
    `${String(spec["group"])}/${version.name} ${String(kind)}`,
    place,
  ]);
}

function recordAt(from: Record<string, unknown>, field: string): Record<string, unknown> {
  const value = from[field];
  return typeof value === "object" && value !== null ? { ...value } : {};
}
