// PATCH with `application/apply-patch+yaml`: the body is what the client wants to be true of an
// object and nothing else. It is laid over the object, which is made if there is none, and what the
// client had applied before and no longer mentions goes.
import type { IncomingRequest } from "../../environment/network.ts";
import { parseYaml, YamlProblem } from "../../kube/yaml/yaml-document.ts";
import { ApiError } from "../api-error.ts";
import { badRequest, readBody } from "../decode/body.ts";
import { conform } from "../decode/conform.ts";
import { goJsonType } from "../decode/go-format.ts";
import { readFieldValidation } from "../decode/request-object.ts";
import { SchemaTypeError } from "../decode/schema-type-error.ts";
import type { ResourceRoute } from "../http/route.ts";
import { FieldErrors } from "../kinds/field-errors.ts";
import { isJsonObject, type JsonObject, textAt } from "../kinds/fields.ts";
import { groupVersion, qualifiedResource, type ResourceKind } from "../kinds/resource-kind.ts";
import type { KubeObject } from "../kube-object.ts";
import { asKubeObject } from "../verbs/api-object.ts";
import type { Backend } from "../verbs/backend.ts";
import { createObject } from "../verbs/create.ts";
import { readDryRun } from "../verbs/read-options.ts";
import { scaleKind, updateScale } from "../verbs/scale.ts";
import { checkNameInBody } from "../verbs/status-answer.ts";
import { updateObject } from "../verbs/update.ts";
import { type FieldManagement, ownedScaleOf } from "./field-management.ts";
import { type ApplyResult, gvkText, objectText } from "./field-ownership.ts";
import { parentManagedFields } from "./scale-fields.ts";
import { checkManagerName } from "./writer-name.ts";

export const applyMediaType = "application/apply-patch+yaml";

export interface ApplyCall {
  readonly route: ResourceRoute;
  readonly request: IncomingRequest;
  /** Throws if the client may not make the object when there is none. */
  readonly authorizeCreate: () => void;
}

export interface AppliedObject {
  readonly object: JsonObject;
  readonly isCreated: boolean;
  readonly warnings: readonly string[];
}

/** How often it starts over because the object appeared or vanished in between. */
const maxTries = 5;

export async function applyConfiguration(
  backend: Backend,
  management: FieldManagement,
  call: ApplyCall,
): Promise<AppliedObject> {
  const { route, request, authorizeCreate } = call;
  const options = readApplyOptions(route.query);
  const validation = readFieldValidation(route.query, "PatchOptions");
  const dryRun = readDryRun(route.query, "PatchOptions");
  const { configuration, repeatedLines } = parseConfiguration(await readBody(request));
  const application = new Application(backend, management, {
    ...options,
    route,
    dryRun,
    configuration,
    authorizeCreate,
    checkApplied() {
      if (validation === "Strict" && repeatedLines.length > 0) throw repeatedKeys(repeatedLines);
    },
  });
  const applied = await application.run();
  return { ...applied, warnings: validation === "Warn" ? repeatedLines : [] };
}

/** Other patches overwrite whatever they name, and need no permission to. */
export function refuseForce(query: URLSearchParams): void {
  const errors = new FieldErrors();
  if (query.has("force")) {
    errors.forbidden("force", "may not be specified for non-apply patch");
  }
  errors.throwIfAny({ group: "meta.k8s.io", kind: "PatchOptions" }, "");
}

interface ApplicationOptions {
  readonly route: ResourceRoute;
  readonly manager: string;
  readonly isForced: boolean;
  readonly dryRun: boolean;
  readonly configuration: JsonObject;
  readonly authorizeCreate: () => void;
  /** Throws what is to be said only when the configuration could be applied. */
  checkApplied(): void;
}

class Application {
  readonly #backend: Backend;
  readonly #management: FieldManagement;
  readonly #options: ApplicationOptions;

  constructor(backend: Backend, management: FieldManagement, options: ApplicationOptions) {
    this.#backend = backend;
    this.#management = management;
    this.#options = options;
  }

  async run(): Promise<Omit<AppliedObject, "warnings">> {
    const { kind, namespace, name = "", subresource } = this.#options.route;
    if (subresource === "scale") return { object: await this.#applyScale(), isCreated: false };
    for (let tries = 1; ; tries++) {
      const store = this.#backend.store(kind);
      const isNew = subresource === undefined && !(await store.get(namespace, name));
      try {
        const object = isNew ? await this.#create() : await this.#update();
        return { object, isCreated: isNew };
      } catch (error) {
        const isOvertaken =
          error instanceof ApiError && error.reason === (isNew ? "AlreadyExists" : "NotFound");
        if (!isOvertaken || subresource !== undefined || tries >= maxTries) throw error;
      }
    }
  }

  #create(): Promise<KubeObject> {
    const { kind, namespace, name = "" } = this.#options.route;
    const { dryRun } = this.#options;
    const result = this.#apply(undefined);
    const object = this.#asObject(result.object);
    const { uid = "" } = object.metadata;
    if (uid !== "") throw uidWithoutObject(kind, name, uid);
    this.#options.authorizeCreate();
    delete object.metadata.resourceVersion;
    const { managedFields } = result;
    const backend = { ...this.#backend, managedFieldsAfter: () => managedFields };
    return createObject(backend, { kind, namespace, object, dryRun });
  }

  #update(): Promise<KubeObject> {
    const { kind, namespace, name = "", subresource } = this.#options.route;
    const { dryRun } = this.#options;
    let result: ApplyResult | undefined;
    const backend = { ...this.#backend, managedFieldsAfter: () => result?.managedFields };
    return updateObject(backend, {
      kind,
      namespace,
      name,
      dryRun,
      part: subresource === "status" ? "status" : "object",
      next: (current) => {
        result = this.#apply(current);
        const object = this.#asObject(result.object);
        refuseOtherUid(kind, object, current);
        return object;
      },
    });
  }

  #applyScale(): Promise<JsonObject> {
    const { kind, namespace, name = "" } = this.#options.route;
    const { configuration: applied, manager, isForced, dryRun } = this.#options;
    let result: ApplyResult | undefined;
    const backend: Backend = {
      ...this.#backend,
      managedFieldsAfter: (_, current) =>
        parentManagedFields(kind, current?.metadata.managedFields, result?.managedFields),
    };
    return updateScale(backend, { kind, namespace, name, dryRun }, (_, object) => {
      const live = ownedScaleOf(kind, object);
      result = this.#management.ofScale().apply({ live, applied, manager, isForced });
      this.#options.checkApplied();
      checkNameInBody(result.object, name);
      return conform(scaleKind.schema, result.object).value;
    });
  }

  #apply(live: KubeObject | undefined): ApplyResult {
    const { route, configuration: applied, manager, isForced } = this.#options;
    const fields = this.#management.of(route.kind, route.subresource ?? "");
    const result = fields.apply({ live, applied, manager, isForced });
    this.#options.checkApplied();
    return result;
  }

  /** In the form of the kind, with the name of the path. */
  #asObject(merged: JsonObject): KubeObject {
    const { kind, name = "" } = this.#options.route;
    try {
      const { value } = kind.custom?.conform(merged) ?? conform(kind.schema, merged);
      checkNameInBody(value, name);
      return asKubeObject(kind, value);
    } catch (error) {
      if (!(error instanceof SchemaTypeError)) throw error;
      throw new ApiError(
        500,
        "",
        `failed to convert new object (${objectText(this.#options.configuration)}) to proper ` +
          `version: unable to convert unstructured object to ` +
          `${gvkText(groupVersion(kind), kind.kind)}: ${error.conversion}`,
      );
    }
  }
}

function readApplyOptions(query: URLSearchParams): { manager: string; isForced: boolean } {
  const manager = query.get("fieldManager") ?? "";
  const errors = new FieldErrors();
  if (manager === "") errors.required("fieldManager", "is required for apply patch");
  checkManagerName(manager, errors);
  errors.throwIfAny({ group: "meta.k8s.io", kind: "PatchOptions" }, "");
  const force = query.get("force")?.toLowerCase();
  // Anything but a no is a yes, to the decoder of query parameters.
  return { manager, isForced: force !== undefined && force !== "false" && force !== "0" };
}

function parseConfiguration(body: Buffer): {
  configuration: JsonObject;
  repeatedLines: readonly string[];
} {
  const { document, repeatedLines } = parse(body);
  const configuration = document ?? {};
  if (!isJsonObject(configuration)) {
    throw badRequest(
      "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal " +
        `${goJsonType(document)} into Go value of type map[string]interface {}`,
    );
  }
  return { configuration, repeatedLines };
}

function parse(body: Buffer): ReturnType<typeof parseYaml> {
  try {
    return parseYaml(body);
  } catch (error) {
    if (!(error instanceof YamlProblem)) throw error;
    throw badRequest(`error decoding YAML: error converting YAML to JSON: ${error.message}`);
  }
}

function repeatedKeys(lines: readonly string[]): ApiError {
  const list = lines.map((line) => `\n  ${line}`).join("");
  return badRequest(
    `error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:${list}`,
  );
}

function uidWithoutObject(kind: ResourceKind, name: string, uid: string): ApiError {
  return new ApiError(
    409,
    "Conflict",
    `Operation cannot be fulfilled on ${qualifiedResource(kind)} ${JSON.stringify(name)}: uid ` +
      `mismatch: the provided object specified uid ${uid}, and no existing object was found`,
    { name, ...(kind.group === "" ? {} : { group: kind.group }), kind: kind.resource },
  );
}

/** The real server finds it twice: among the checks of all objects and of this kind. */
function refuseOtherUid(kind: ResourceKind, object: KubeObject, current: KubeObject): void {
  const { uid = "" } = object.metadata;
  const errors = new FieldErrors();
  if (uid !== "" && uid !== current.metadata.uid) {
    errors.invalid("metadata.uid", uid, "field is immutable");
    errors.invalid("metadata.uid", uid, "field is immutable");
  }
  errors.throwIfAny(kind, textAt(current.metadata, "name"));
}
