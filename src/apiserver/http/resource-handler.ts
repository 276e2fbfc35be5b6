// One request on a resource: reads its options, makes its RequestContext, runs the verb and returns
// the answer. Watches and logs stream, so they write their own answer.
import type { PodLogs } from "../../components/pod-logs.ts";
import type { IncomingRequest, ServerExchange } from "../../environment/network.ts";
import type { AccessControl } from "../access/access-control.ts";
import { tokenRequestKind } from "../access/token-request.ts";
import { ApiError } from "../api-error.ts";
import { applyConfiguration, applyMediaType } from "../apply/apply-request.ts";
import type { FieldTracking } from "../apply/field-tracking.ts";
import { mediaType, parseDocumentBody, readBody } from "../decode/body.ts";
import {
  type DecodedObject,
  decodeDocument,
  type ExpectedKind,
  type FieldValidation,
} from "../decode/request-object.ts";
import { copyJson, type JsonObject } from "../kinds/fields.ts";
import { groupVersion, type ResourceKind } from "../kinds/resource-kind.ts";
import type { KubeObject } from "../kube-object.ts";
import { encodeList } from "../listwatch/encoded-object.ts";
import { notFound } from "../listwatch/refusals.ts";
import { readPatch } from "../patch/patch-request.ts";
import { type AnswerForm, answerForm } from "../tables/answer-form.ts";
import { asKubeObject, checkNameInBody, successStatus } from "../verbs/api-object.ts";
import type { Backend, Target } from "../verbs/backend.ts";
import { bindingKind, bindPod } from "../verbs/bind.ts";
import { createObject } from "../verbs/create.ts";
import { type DeleteOptions, deleteObject, readDeleteOptions } from "../verbs/delete.ts";
import { evictionKind, evictPod } from "../verbs/evict.ts";
import { readListRequest, readSelectors, readWatchRequest } from "../verbs/read-options.ts";
import type { RequestContext } from "../verbs/request-context.ts";
import { scaleKind, shownScale, updateScale } from "../verbs/scale.ts";
import { updateObject } from "../verbs/update.ts";
import { type Answer, DeferredWriter, encodedAnswer, jsonAnswer, withWarnings } from "./answer.ts";
import type { User } from "./authentication.ts";
import { checkPodLogOptions, readPodLogRequest } from "./pod-log-options.ts";
import { type PodProxy, proxyTarget } from "./pod-proxy.ts";
import type { RequestNotes } from "./request-record.ts";
import type { ResourceRoute } from "./route.ts";
import { managerFromUserAgent, readWriteOptions, type WriteOptions } from "./write-options.ts";

interface ResourceCall {
  readonly route: ResourceRoute;
  readonly exchange: ServerExchange;
  readonly user: User;
  /** For metrics, the audit log and the server's own log. */
  readonly notes: RequestNotes;
}

/** A call with the stores that serve it. */
interface ServedCall extends ResourceCall {
  readonly backend: Backend;
  readonly form: AnswerForm;
}

interface ResourceHandlerOptions {
  readonly backend: Backend;
  readonly podLogs: PodLogs;
  readonly podProxy: PodProxy;
  readonly access: AccessControl;
  readonly fieldTracking: FieldTracking;
  /** By host: the separate stores that isolated readers are served from. */
  readonly isolatedReaders: ReadonlyMap<string, Backend>;
}

export class ResourceHandler {
  readonly #options: ResourceHandlerOptions;

  constructor(options: ResourceHandlerOptions) {
    this.#options = options;
  }

  /** The answer, or undefined when the verb has streamed it itself. */
  async handle(call: ResourceCall): Promise<Answer | undefined> {
    const { route, exchange } = call;
    const { isolatedReaders, backend: usual } = this.#options;
    const backend = isolatedReaders.get(hostOf(exchange.request.peer)) ?? usual;
    const form = answerForm(route, exchange.request, backend.clock);
    const answer = await this.#dispatch({ ...call, backend, form });
    return answer && withWarnings(answer, route.kind.custom?.warnings ?? []);
  }

  async #dispatch(call: ServedCall): Promise<Answer | undefined> {
    if (call.route.subresource === "proxy") return this.#proxy(call);
    switch (call.route.verb) {
      case "get":
        return call.route.subresource === "log" ? this.#log(call) : this.#get(call);
      case "list":
        return this.#list(call);
      case "watch":
        return this.#watch(call);
      case "create":
        return this.#create(call);
      case "update":
        return this.#update(call);
      case "patch":
        return this.#patch(call);
      case "delete":
        return this.#delete(call);
      case "deletecollection":
        return this.#deleteCollection(call);
    }
  }

  /** The one place where a write's context is made. */
  #contextOf({ route, exchange, user }: ResourceCall, options: WriteOptions): RequestContext {
    const { access, fieldTracking } = this.#options;
    const { kind, namespace = "", name = "" } = route;
    const { headers } = exchange.request;
    return {
      dryRun: options.dryRun,
      managedFieldsAfter: fieldTracking.recorder(
        route,
        () => options.manager || managerFromUserAgent(headers["user-agent"] ?? ""),
      ),
      admit: access.admission(user, route),
      authorizeCreate() {
        const { group, version, resource } = kind;
        const place = { group, version, resource, subresource: "", namespace, name };
        access.authorize(user, { type: "resource", verb: "create", ...place }, {});
      },
    };
  }

  async #get(call: ServedCall): Promise<Answer> {
    const { route, form } = call;
    const object = await readObject(call);
    const isScale = route.subresource === "scale";
    return jsonAnswer(200, isScale ? shownScale(object, route.kind.custom?.scale) : object, form);
  }

  async #list({ route, backend, notes, form }: ServedCall): Promise<Answer> {
    const answer = await backend.store(route.kind).list(readListRequest(route));
    notes.items = answer.items.length;
    return encodedAnswer(200, encodeList(route.kind, answer), form);
  }

  async #watch({ route, backend, exchange, user, form }: ServedCall): Promise<undefined> {
    const request = { ...readWatchRequest(route, user.name), shape: form.shape };
    const writer = new DeferredWriter(exchange, {
      "cache-control": "no-cache, private",
      "content-type": "application/json",
    });
    await backend.store(route.kind).watch(request, writer, exchange.request.closed);
  }

  async #log(call: ServedCall): Promise<undefined> {
    const { route, exchange } = call;
    checkPodLogOptions(route.name ?? "", route.query);
    const request = readPodLogRequest(await readObject(call), route.query);
    const writer = exchange.respond(200, { "content-type": "text/plain" });
    await this.#options.podLogs.write(request, writer, exchange.request.closed);
    writer.end();
  }

  async #proxy({ route, backend, exchange }: ServedCall): Promise<undefined> {
    const { kind, namespace } = route;
    const target = proxyTarget(route.name ?? "");
    const pod = await backend.store(kind).get(namespace, target.name);
    if (pod === undefined) throw notFound(kind, target.name);
    await this.#options.podProxy.pass({ pod, target, route, exchange });
  }

  async #create(call: ServedCall): Promise<Answer> {
    const { route, backend, exchange, user, notes, form } = call;
    const { kind, namespace, subresource } = route;
    const { request } = exchange;
    const options = readWriteOptions(route.query, "create");
    const context = this.#contextOf(call, options);
    const target = targetOf(route);
    if (subresource === "binding") {
      const binding = await decodeBody(request, bindingKind, options.validation);
      await bindPod(backend, context, target, binding.value);
      return jsonAnswer(201, successStatus(201), form);
    }
    if (subresource === "eviction") {
      const { value } = await decodeBody(request, evictionKind, options.validation);
      await evictPod(backend, target, value, route.query);
      return jsonAnswer(201, successStatus(201), form);
    }
    const { access } = this.#options;
    if (subresource === "token") {
      const { value } = await decodeBody(request, tokenRequestKind, options.validation);
      return jsonAnswer(201, await access.issueToken(target, value, notes), form);
    }
    const { value, warnings } = await decodeBody(request, expectedOf(kind), options.validation);
    notes.object = value;
    if (kind.createOnly) {
      const review = { kind, user, namespace: namespace ?? "", question: value };
      return withWarnings(jsonAnswer(201, await access.reviews.answer(review), form), warnings);
    }
    const object = asKubeObject(kind, value);
    const created = await createObject(backend, context, { kind, namespace, object });
    return objectAnswer(call, { status: 201, object: created, warnings });
  }

  async #update(call: ServedCall): Promise<Answer> {
    const { route, backend, exchange, notes, form } = call;
    const { request } = exchange;
    const options = readWriteOptions(route.query, "update");
    const context = this.#contextOf(call, options);
    const target = targetOf(route);
    const { kind, namespace, name } = target;
    if (route.subresource === "scale") {
      const { value, warnings } = await decodeBody(request, scaleKind, options.validation);
      checkNameInBody(value, name);
      const scale = await updateScale(backend, context, target, () => value);
      return withWarnings(jsonAnswer(200, scale, form), warnings);
    }
    const { value, warnings } = await decodeBody(request, expectedOf(kind), options.validation);
    notes.object = value;
    checkNameInBody(value, name);
    const mayCreate = kind.createOnUpdate && route.subresource === undefined;
    if (mayCreate && (await backend.store(kind).get(namespace, name)) === undefined) {
      context.authorizeCreate();
      const object = asKubeObject(kind, copyJson(value));
      delete object.metadata.resourceVersion;
      const created = await createObject(backend, context, { kind, namespace, object });
      return objectAnswer(call, { status: 201, object: created, warnings });
    }
    const object = await updateObject(backend, context, {
      ...target,
      part: partOf(route),
      next: () => asKubeObject(kind, copyJson(value)),
    });
    return objectAnswer(call, { status: 200, object, warnings });
  }

  async #patch(call: ServedCall): Promise<Answer> {
    const { route, backend, exchange } = call;
    const { request } = exchange;
    if (mediaType(request.headers) === applyMediaType) return this.#apply(call);
    const { validation, ...options } = readWriteOptions(route.query, "patch");
    const context = this.#contextOf(call, { ...options, validation });
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
    const object =
      route.subresource === "scale"
        ? await updateScale(backend, context, target, apply)
        : await updateObject(backend, context, {
            ...target,
            part: partOf(route),
            next: (current) => asKubeObject(route.kind, apply(current)),
          });
    return objectAnswer(call, { status: 200, object, warnings });
  }

  async #apply(call: ServedCall): Promise<Answer> {
    const { route, backend, exchange } = call;
    const { fieldTracking } = this.#options;
    const { request } = exchange;
    const options = readWriteOptions(route.query, "apply");
    const context = this.#contextOf(call, options);
    const write = { route, request, options };
    const applied = await applyConfiguration(backend, context, fieldTracking, write);
    const { object, isCreated, warnings } = applied;
    return objectAnswer(call, { status: isCreated ? 201 : 200, object, warnings });
  }

  async #delete({ route, backend, exchange, form }: ServedCall): Promise<Answer> {
    const options = await decodeDeleteOptions(exchange.request, route.query);
    const target = targetOf(route);
    const { object, removed } = await deleteObject(backend, target, options);
    const isShown = !removed || target.kind.returnsDeleted;
    return jsonAnswer(200, isShown ? object : successStatus(200, target.kind, object), form);
  }

  async #deleteCollection({ route, backend, exchange, form }: ServedCall): Promise<Answer> {
    const { kind } = route;
    const options = await decodeDeleteOptions(exchange.request, route.query);
    const matches = readSelectors(route);
    const answer = await backend.store(kind).list({ namespace: route.namespace, matches });
    for (const { object } of answer.items) {
      const { namespace, name } = object.metadata;
      await ignoreNotFound(deleteObject(backend, { kind, namespace, name }, options));
    }
    return encodedAnswer(200, encodeList(kind, answer), form);
  }
}

async function readObject({ route, backend }: ServedCall): Promise<KubeObject> {
  const { kind, namespace, name } = targetOf(route);
  const store = backend.store(kind);
  const version = route.query.get("resourceVersion") ?? "";
  const object =
    version === ""
      ? await store.get(namespace, name)
      : await store.getCached(namespace, name, version);
  if (object === undefined) throw notFound(kind, name);
  return object;
}

/** The written object, with the warnings about its body and then those about the object itself. */
function objectAnswer(
  { route: { kind, subresource }, form }: ServedCall,
  { status, object, warnings }: { status: number; object: JsonObject; warnings: readonly string[] },
): Answer {
  // A write of a part of an object, such as its status, has no warnings about the object.
  const own = subresource === undefined ? (kind.warnings?.(object as KubeObject) ?? []) : [];
  return withWarnings(jsonAnswer(status, object, form), [...warnings, ...own]);
}

function targetOf({ kind, namespace, name = "" }: ResourceRoute): Target {
  return { kind, namespace, name };
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

/** The object in the body, of the expected kind. */
async function decodeBody(
  request: IncomingRequest,
  expected: ExpectedKind,
  validation: FieldValidation,
): Promise<DecodedObject> {
  const body = await readBody(request);
  const document = parseDocumentBody(body, mediaType(request.headers), expected);
  return decodeDocument(document, expected, validation);
}

/** Clients put the group and version of the deleted resource here. */
const deleteOptionsKind: ExpectedKind = {
  kind: "DeleteOptions",
  apiVersion: "",
  schema: "meta.v1.DeleteOptions",
};

async function decodeDeleteOptions(
  request: IncomingRequest,
  query: URLSearchParams,
): Promise<DeleteOptions> {
  const body = await readBody(request);
  if (body.byteLength === 0) {
    return readDeleteOptions(undefined, query);
  }
  const document = parseDocumentBody(body, mediaType(request.headers), deleteOptionsKind);
  return readDeleteOptions(decodeDocument(document, deleteOptionsKind, "Ignore").value, query);
}
