// One request on a resource: reads what the verb needs from the request, runs the verb, and gives
// the answer. Watches and logs stream, so they write their own answer.

import type { PodLogs } from "../../components/pod-logs.ts";
import type { IncomingRequest, ServerExchange } from "../../environment/network.ts";
import type { AccessControl } from "../access/access-control.ts";
import { tokenRequestKind } from "../access/token-request.ts";
import { ApiError } from "../api-error.ts";
import { applyConfiguration, applyMediaType, refuseForce } from "../apply/apply-request.ts";
import type { FieldManagement } from "../apply/field-management.ts";
import { mediaType, readBody } from "../decode/body.ts";
import { type ExpectedKind, readFieldValidation } from "../decode/request-object.ts";
import { copyJson, type JsonObject } from "../kinds/fields.ts";
import { groupVersion, type ResourceKind } from "../kinds/resource-kind.ts";
import type { KubeObject } from "../kube-object.ts";
import { encodeList } from "../listwatch/list-body.ts";
import { notFound } from "../listwatch/refusals.ts";
import { readPatch } from "../patch/patch-request.ts";
import { type AnswerForm, answerForm } from "../tables/answer-form.ts";
import { asKubeObject } from "../verbs/api-object.ts";
import type { Backend, Target } from "../verbs/backend.ts";
import { bindingKind, bindPod } from "../verbs/bind.ts";
import { createObject } from "../verbs/create.ts";
import { deleteObject } from "../verbs/delete.ts";
import { evictionKind, evictPod } from "../verbs/evict.ts";
import {
  readDryRun,
  readListRequest,
  readSelectors,
  readWatchRequest,
} from "../verbs/read-options.ts";
import { scaleKind, shownScale, updateScale } from "../verbs/scale.ts";
import { checkNameInBody, successStatus } from "../verbs/status-answer.ts";
import { updateObject } from "../verbs/update.ts";
import { type Answer, DeferredWriter, encodedAnswer, jsonAnswer, withWarnings } from "./answer.ts";
import type { User } from "./authentication.ts";
import { checkPodLogOptions, readPodLogRequest } from "./pod-log-options.ts";
import { decodeBody, decodeDeleteOptions } from "./request-body.ts";
import type { ResourceRoute } from "./route.ts";
import type { RequestNotes } from "./served-request.ts";

export interface ResourceCall {
  readonly route: ResourceRoute;
  readonly exchange: ServerExchange;
  readonly user: User;
  /** For those who keep a record of the request. */
  readonly notes: RequestNotes;
}

export interface ResourceHandlerOptions {
  readonly backend: Backend;
  readonly podLogs: PodLogs;
  readonly access: AccessControl;
  readonly fieldManagement: FieldManagement;
  /** By host: what those who only look on are served from. */
  readonly onlookers: ReadonlyMap<string, Backend>;
}

export class ResourceHandler {
  readonly #backend: Backend;
  readonly #podLogs: PodLogs;
  readonly #options: ResourceHandlerOptions;

  constructor(options: ResourceHandlerOptions) {
    this.#options = options;
    this.#backend = options.backend;
    this.#podLogs = options.podLogs;
  }

  /** The answer, or undefined when the verb has streamed it itself. */
  async handle(call: ResourceCall): Promise<Answer | undefined> {
    const { access, fieldManagement, onlookers } = this.#options;
    const { user, route, exchange } = call;
    const usual = onlookers.get(hostOf(exchange.request.peer)) ?? this.#backend;
    const guarded = access.guardedBackend(user, route) ?? usual;
    const backend = fieldManagement.recording(guarded, route, exchange.request);
    const handler =
      backend === this.#backend ? this : new ResourceHandler({ ...this.#options, backend });
    const answer = await handler.#dispatch(call);
    return answer && withWarnings(answer, route.kind.custom?.warnings ?? []);
  }

  async #dispatch(call: ResourceCall): Promise<Answer | undefined> {
    const { route, exchange } = call;
    const isLog = route.subresource === "log";
    const type = answerForm(route, exchange.request, this.#backend.clock);
    switch (route.verb) {
      case "get":
        return isLog ? this.#log(call) : this.#get(route, type);
      case "list":
        return this.#list(call, type);
      case "watch":
        return this.#watch(call, type);
      case "create":
        return this.#create(call, type);
      case "update":
        return this.#update(call, type);
      case "patch":
        return this.#patch(call, type);
      case "delete":
        return this.#delete(route, exchange.request, type);
      case "deletecollection":
        return this.#deleteCollection(route, exchange.request, type);
    }
  }

  async #get(route: ResourceRoute, type: AnswerForm): Promise<Answer> {
    const object = await this.#read(route);
    const isScale = route.subresource === "scale";
    const shown = isScale ? shownScale(object, route.kind.custom?.scale) : object;
    return jsonAnswer(200, shown, type);
  }

  async #read(route: ResourceRoute): Promise<KubeObject> {
    const { kind, namespace, name } = targetOf(route);
    const store = this.#backend.store(kind);
    const version = route.query.get("resourceVersion") ?? "";
    const object =
      version === ""
        ? await store.get(namespace, name)
        : await store.getCached(namespace, name, version);
    if (object === undefined) {
      throw notFound(kind, name);
    }
    return object;
  }

  async #list({ route, notes }: ResourceCall, type: AnswerForm): Promise<Answer> {
    const answer = await this.#backend.store(route.kind).list(readListRequest(route));
    notes.items = answer.items.length;
    return encodedAnswer(200, encodeList(route.kind, answer), type);
  }

  async #watch({ route, exchange, user }: ResourceCall, { shape }: AnswerForm): Promise<undefined> {
    const request = { ...readWatchRequest(route, user.name), shape };
    const writer = new DeferredWriter(exchange, {
      "cache-control": "no-cache, private",
      "content-type": "application/json",
    });
    await this.#backend.store(route.kind).watch(request, writer, exchange.request.closed);
  }

  async #log({ route, exchange }: ResourceCall): Promise<undefined> {
    checkPodLogOptions(route.name ?? "", route.query);
    const pod = await this.#read(route);
    const request = readPodLogRequest(pod, route.query);
    const writer = exchange.respond(200, { "content-type": "text/plain" });
    await this.#podLogs.write(request, writer, exchange.request.closed);
    writer.end();
  }

  async #create({ route, exchange, user, notes }: ResourceCall, type: AnswerForm): Promise<Answer> {
    const { kind, namespace } = route;
    const { request } = exchange;
    const validation = readFieldValidation(route.query, "CreateOptions");
    const dryRun = readDryRun(route.query, "CreateOptions");
    if (route.subresource === "binding") {
      const binding = await decodeBody(request, bindingKind, validation);
      await bindPod(this.#backend, { ...targetOf(route), dryRun }, binding.value);
      return jsonAnswer(201, successStatus(201), type);
    }
    if (route.subresource === "eviction") {
      const { value } = await decodeBody(request, evictionKind, validation);
      await evictPod(this.#backend, targetOf(route), value, route.query);
      return jsonAnswer(201, successStatus(201), type);
    }
    const { access } = this.#options;
    if (route.subresource === "token") {
      const { value } = await decodeBody(request, tokenRequestKind, validation);
      return jsonAnswer(201, await access.issueToken(targetOf(route), value, notes), type);
    }
    const { value, warnings } = await decodeBody(request, expectedOf(kind), validation);
    notes.object = value;
    if (kind.createOnly) {
      const review = { kind, user, namespace: namespace ?? "", question: value };
      return withWarnings(jsonAnswer(201, await access.reviews.answer(review), type), warnings);
    }
    const object = asKubeObject(kind, value);
    const created = await createObject(this.#backend, { kind, namespace, object, dryRun });
    return withWarnings(jsonAnswer(201, created, type), warningsOf(route, created, warnings));
  }

  async #update(call: ResourceCall, type: AnswerForm): Promise<Answer> {
    const { route, exchange, notes } = call;
    const { request } = exchange;
    const validation = readFieldValidation(route.query, "UpdateOptions");
    const dryRun = readDryRun(route.query, "UpdateOptions");
    const target = targetOf(route);
    const { kind, namespace, name } = target;
    if (route.subresource === "scale") {
      const { value, warnings } = await decodeBody(request, scaleKind, validation);
      checkNameInBody(value, name);
      const scale = await updateScale(this.#backend, { ...target, dryRun }, () => value);
      return withWarnings(jsonAnswer(200, scale, type), warnings);
    }
    const { value, warnings } = await decodeBody(request, expectedOf(kind), validation);
    notes.object = value;
    checkNameInBody(value, name);
    if (route.subresource === undefined && (await this.#createsOnUpdate(target))) {
      this.#authorizeCreate(call);
      const object = asKubeObject(kind, copyJson(value));
      delete object.metadata.resourceVersion;
      const created = await createObject(this.#backend, { kind, namespace, object, dryRun });
      return withWarnings(jsonAnswer(201, created, type), warningsOf(route, created, warnings));
    }
    const updated = await updateObject(this.#backend, {
      ...target,
      dryRun,
      part: partOf(route),
      next: () => asKubeObject(kind, copyJson(value)),
    });
    return withWarnings(jsonAnswer(200, updated, type), warningsOf(route, updated, warnings));
  }

  async #createsOnUpdate({ kind, namespace, name }: Target): Promise<boolean> {
    return (
      kind.createOnUpdate && (await this.#backend.store(kind).get(namespace, name)) === undefined
    );
  }

  /** Who may change an object that is there may not therefore make one. */
  #authorizeCreate({ route, user }: ResourceCall): void {
    const { kind, namespace = "", name = "" } = route;
    const { group, version, resource } = kind;
    const place = { group, version, resource, subresource: "", namespace, name };
    this.#options.access.authorize(user, { type: "resource", verb: "create", ...place }, {});
  }

  async #patch(call: ResourceCall, type: AnswerForm): Promise<Answer> {
    const { route } = call;
    const { request } = call.exchange;
    if (mediaType(request.headers) === applyMediaType) {
      return this.#apply(call, type);
    }
    refuseForce(route.query);
    const validation = readFieldValidation(route.query, "PatchOptions");
    const dryRun = readDryRun(route.query, "PatchOptions");
    const target = targetOf(route);
    const expected = route.subresource === "scale" ? scaleKind : expectedOf(route.kind);
    const body = await readBody(request);
    const patch = readPatch({ body, mediaType: mediaType(request.headers), expected, validation });
    let warnings: readonly string[] = [];
    const apply = (document: JsonObject): JsonObject => {
      const decoded = patch(document);
      checkNameInBody(decoded.value, target.name);
      warnings = decoded.warnings;
      return decoded.value;
    };
    const result =
      route.subresource === "scale"
        ? await updateScale(this.#backend, { ...target, dryRun }, apply)
        : await updateObject(this.#backend, {
            ...target,
            dryRun,
            part: partOf(route),
            next: (current) => asKubeObject(route.kind, apply(current)),
          });
    return withWarnings(jsonAnswer(200, result, type), warningsOf(route, result, warnings));
  }

  async #apply(call: ResourceCall, type: AnswerForm): Promise<Answer> {
    const { fieldManagement } = this.#options;
    const { route, exchange } = call;
    const applied = await applyConfiguration(this.#backend, fieldManagement, {
      route,
      request: exchange.request,
      authorizeCreate: () => this.#authorizeCreate(call),
    });
    const answer = jsonAnswer(applied.isCreated ? 201 : 200, applied.object, type);
    return withWarnings(answer, warningsOf(route, applied.object, applied.warnings));
  }

  async #delete(route: ResourceRoute, request: IncomingRequest, type: AnswerForm): Promise<Answer> {
    const options = await decodeDeleteOptions(request, route.query);
    const target = targetOf(route);
    const { object, removed } = await deleteObject(this.#backend, target, options);
    if (removed && !target.kind.returnsDeleted) {
      return jsonAnswer(200, successStatus(200, target.kind, object), type);
    }
    return jsonAnswer(200, object, type);
  }

  async #deleteCollection(
    route: ResourceRoute,
    request: IncomingRequest,
    type: AnswerForm,
  ): Promise<Answer> {
    const { kind } = route;
    const options = await decodeDeleteOptions(request, route.query);
    const store = this.#backend.store(kind);
    const answer = await store.list({ namespace: route.namespace, matches: readSelectors(route) });
    for (const { object } of answer.items) {
      const { namespace, name } = object.metadata;
      await ignoreNotFound(deleteObject(this.#backend, { kind, namespace, name }, options));
    }
    return encodedAnswer(200, encodeList(kind, answer), type);
  }
}

function targetOf({ kind, namespace, name = "" }: ResourceRoute): Target {
  return { kind, namespace, name };
}

/** Of a body and then of the object it became; a part of an object (its status) has none. */
function warningsOf(
  { kind, subresource }: ResourceRoute,
  object: JsonObject,
  ofBody: readonly string[],
): readonly string[] {
  return kind.warnings === undefined || subresource !== undefined
    ? ofBody
    : [...ofBody, ...kind.warnings(object as KubeObject)];
}

function expectedOf(kind: ResourceKind): ExpectedKind {
  const { custom, schema } = kind;
  const expected = { kind: kind.kind, apiVersion: groupVersion(kind), schema };
  return custom === undefined ? expected : { ...expected, custom };
}

function partOf({ subresource }: ResourceRoute): "object" | "status" | "finalize" {
  return subresource === "status" || subresource === "finalize" ? subresource : "object";
}

/** Another client may delete from the same collection. */
async function ignoreNotFound(deletion: Promise<unknown>): Promise<void> {
  try {
    await deletion;
  } catch (error) {
    if (!(error instanceof ApiError) || error.reason !== "NotFound") {
      throw error;
    }
  }
}

/** A peer is named with its port. */
function hostOf(peer: string): string {
  return peer.slice(0, peer.lastIndexOf(":"));
}
