// PATCH with `application/apply-patch+yaml`: the body holds the fields that the client wants to set
// and no others. They are merged into the object, which is created if it is absent. Fields that the
// client applied before and that the body no longer has are removed.
import type { IncomingRequest } from "../../environment/network.ts";
import { parseYaml, YamlProblem } from "../../kube/yaml/yaml-document.ts";
import { ApiError } from "../api-error.ts";
import { badRequest, readBody } from "../decode/body.ts";
import { conform } from "../decode/conform.ts";
import { goJsonType } from "../decode/go-format.ts";
import { SchemaTypeError } from "../decode/schema-type-error.ts";
import type { ResourceRoute } from "../http/route.ts";
import type { WriteOptions } from "../http/write-options.ts";
import { FieldErrors } from "../kinds/field-errors.ts";
import { isJsonObject, type JsonObject, textAt } from "../kinds/fields.ts";
import { groupVersion, qualifiedResource, type ResourceKind } from "../kinds/resource-kind.ts";
import type { KubeObject } from "../kube-object.ts";
import { asKubeObject, checkNameInBody } from "../verbs/api-object.ts";
import type { Backend } from "../verbs/backend.ts";
import { createObject } from "../verbs/create.ts";
import type { RequestContext } from "../verbs/request-context.ts";
import { scaleKind, updateScale } from "../verbs/scale.ts";
import { updateObject } from "../verbs/update.ts";
import { type ApplyResult, gvkText, objectText } from "./field-ownership.ts";
import { type FieldTracking, ownedScaleOf, parentManagedFields } from "./field-tracking.ts";

export const applyMediaType = "application/apply-patch+yaml";

export interface ApplyCall {
  readonly route: ResourceRoute;
  readonly request: IncomingRequest;
  readonly options: WriteOptions;
}

export interface AppliedObject {
  readonly object: JsonObject;
  readonly isCreated: boolean;
  readonly warnings: readonly string[];
}

/** Attempts, while other clients create or delete the object at the same time. */
const maxTries = 5;

export async function applyConfiguration(
  backend: Backend,
  context: RequestContext,
  tracking: FieldTracking,
  { route, request, options }: ApplyCall,
): Promise<AppliedObject> {
  const { manager, isForced, validation } = options;
  const { configuration, repeatedLines } = parseConfiguration(await readBody(request));
  const application = new Application(backend, context, tracking, {
    manager,
    isForced,
    route,
    configuration,
    checkApplied() {
      if (validation === "Strict" && repeatedLines.length > 0) throw repeatedKeys(repeatedLines);
    },
  });
  const applied = await application.run();
  return { ...applied, warnings: validation === "Warn" ? repeatedLines : [] };
}

interface ApplicationOptions {
  readonly route: ResourceRoute;
  readonly manager: string;
  readonly isForced: boolean;
  readonly configuration: JsonObject;
  /** Throws the refusals that are sent only when the configuration could be applied. */
  checkApplied(): void;
}

class Application {
  readonly #backend: Backend;
  readonly #context: RequestContext;
  readonly #tracking: FieldTracking;
  readonly #options: ApplicationOptions;

  constructor(
    backend: Backend,
    context: RequestContext,
    tracking: FieldTracking,
    options: ApplicationOptions,
  ) {
    this.#backend = backend;
    this.#context = context;
    this.#tracking = tracking;
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
    const result = this.#apply(undefined);
    const object = this.#asObject(result.object);
    const { uid = "" } = object.metadata;
    if (uid !== "") throw uidWithoutObject(kind, name, uid);
    this.#context.authorizeCreate();
    delete object.metadata.resourceVersion;
    const { managedFields } = result;
    const context = { ...this.#context, managedFieldsAfter: () => managedFields };
    return createObject(this.#backend, context, { kind, namespace, object });
  }

  #update(): Promise<KubeObject> {
    const { kind, namespace, name = "", subresource } = this.#options.route;
    let result: ApplyResult | undefined;
    const context = { ...this.#context, managedFieldsAfter: () => result?.managedFields };
    return updateObject(this.#backend, context, {
      kind,
      namespace,
      name,
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
    const { configuration: applied, manager, isForced } = this.#options;
    let result: ApplyResult | undefined;
    const context: RequestContext = {
      ...this.#context,
      managedFieldsAfter: (_, current) =>
        parentManagedFields(kind, current?.metadata.managedFields, result?.managedFields),
    };
    return updateScale(this.#backend, context, { kind, namespace, name }, (_, object) => {
      const live = ownedScaleOf(kind, object);
      result = this.#tracking.ofScale().apply({ live, applied, manager, isForced });
      this.#options.checkApplied();
      checkNameInBody(result.object, name);
      return conform(scaleKind.schema, result.object).value;
    });
  }

  #apply(live: KubeObject | undefined): ApplyResult {
    const { route, configuration: applied, manager, isForced } = this.#options;
    const fields = this.#tracking.of(route.kind, route.subresource ?? "");
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

/** The real server reports it twice: its checks of all objects and of this kind find it. */
function refuseOtherUid(kind: ResourceKind, object: KubeObject, current: KubeObject): void {
  const { uid = "" } = object.metadata;
  const errors = new FieldErrors();
  if (uid !== "" && uid !== current.metadata.uid) {
    errors.invalid("metadata.uid", uid, "field is immutable");
    errors.invalid("metadata.uid", uid, "field is immutable");
  }
  errors.throwIfAny(kind, textAt(current.metadata, "name"));
}
