// Definitions and example objects that projects publish with their Go modules: the Gateway API, and
// the multi-cluster services API. The suite has Go download them before it cuts off the network.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";

type Json = Record<string, unknown>;

export interface PublishedObject {
  /** The file it is from, in its module. */
  readonly file: string;
  readonly object: Json;
}

export interface PublishedApi {
  readonly definitions: readonly PublishedObject[];
  /** Some are meant to be refused. */
  readonly examples: readonly PublishedObject[];
}

/** Experimental definitions are a superset of the standard ones. */
export function gatewayApi(channel: "standard" | "experimental"): PublishedApi {
  const module = downloaded("gateway-api");
  const channels = channel === "standard" ? ["standard"] : ["standard", "experimental"];
  return {
    definitions: definitionsIn(module, `config/crd/${channel}`),
    examples: channels.flatMap((one) => [
      ...objectsIn(module, `examples/${one}`),
      ...objectsIn(module, `hack/invalid-examples/${one}`),
    ]),
  };
}

/** Of the version that the conformance suite tests, without the kinds that are experimental as a whole. */
export function gatewayApiOfConformance(): readonly PublishedObject[] {
  const all = definitionsIn(downloaded("gateway-api-conformance"), "config/crd/experimental");
  return all.filter(({ file }) => !file.includes("/gateway.networking.x-k8s.io_"));
}

export function multiClusterServicesApi(): PublishedApi {
  const module = downloaded("mcs-api");
  return {
    definitions: definitionsIn(module, "config/crd"),
    examples: objectsIn(module, "demo/yaml"),
  };
}

const modules: Readonly<Record<string, string>> = JSON.parse(
  readFileSync(new URL("published-modules.json", import.meta.url), "utf8"),
);

/** The folder of a module in Go's cache. */
function downloaded(name: string): string {
  const module = modules[name] ?? "";
  const cache = execFileSync("go", ["env", "GOMODCACHE"], { encoding: "utf8" }).trim();
  const folder = join(cache, module);
  if (!existsSync(folder)) execFileSync("go", ["mod", "download", module]);
  return folder;
}

function definitionsIn(module: string, folder: string): readonly PublishedObject[] {
  return objectsIn(module, folder).filter(
    ({ object }) => object["kind"] === "CustomResourceDefinition",
  );
}

function objectsIn(module: string, folder: string): readonly PublishedObject[] {
  const files = readdirSync(join(module, folder), { recursive: true, encoding: "utf8" });
  return files
    .filter((file) => file.endsWith(".yaml"))
    .sort()
    .flatMap((file) =>
      parseAllDocuments(readFileSync(join(module, folder, file), "utf8"))
        .map((document): unknown => document.toJS())
        .filter(isObject)
        .map((object) => ({ file: `${folder}/${file}`, object })),
    );
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
