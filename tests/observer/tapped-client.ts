// Only for tests: a client that notes what passes through it to an observer, list by list and event
// by event, at the instant at which it does.
import { type Clock, elapsedMs, type MonotonicMs } from "../../src/environment/clock.ts";
import type { IncomingResponse } from "../../src/environment/network.ts";
import type { KubeClient, KubeRequest, KubeResponse } from "../../src/kube/client/client.ts";
import { isRecord, type RawRecord } from "../../src/kube/kinds/fields.ts";
import { type ReportedEndpoints, type Resource, resources } from "./reported-endpoints.ts";

/** The backlog of a closed watch has arrived by then. */
const backlogMs = 2_000;

interface DoubtfulList {
  readonly objects: ReadonlyMap<string, RawRecord>;
  readonly at: MonotonicMs;
}

export class TappedClient implements KubeClient {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #reported: ReportedEndpoints;
  /** Lists that may not be believed: a watch that follows says that the last one was. */
  readonly #doubtful = new Map<Resource, DoubtfulList>();

  constructor(client: KubeClient, clock: Clock, reported: ReportedEndpoints) {
    this.#client = client;
    this.#clock = clock;
    this.#reported = reported;
  }

  async request(request: KubeRequest): Promise<KubeResponse> {
    const response = await this.#client.request(request);
    const resource = resourceOf(request);
    if (resource === undefined || isProof(request)) return response;
    const list: unknown = JSON.parse(response.body.toString("utf8"));
    const items = isRecord(list) && Array.isArray(list["items"]) ? list["items"] : [];
    const objects = items.filter(isRecord).map((item) => [nameOf(item), item] as const);
    const doubtful = { objects: new Map(objects), at: this.#clock.monotonicMs() };
    this.#doubtful.set(resource, doubtful);
    if (!this.#reported.losesHalf(resource, doubtful.objects)) this.#believe(resource);
    return response;
  }

  async stream(request: KubeRequest): Promise<IncomingResponse> {
    const resource = resourceOf(request);
    if (resource !== undefined) this.#believe(resource);
    const response = await this.#client.stream(request);
    if (resource === undefined) return response;
    return { ...response, body: this.#received(resource, response.body) };
  }

  #believe(resource: Resource): void {
    const list = this.#doubtful.get(resource);
    this.#doubtful.delete(resource);
    if (list !== undefined) this.#reported.listed(resource, list.objects, list.at);
  }

  async *#received(
    resource: Resource,
    body: AsyncIterable<Uint8Array>,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const openedAt = this.#clock.monotonicMs();
    let rest = "";
    for await (const chunk of body) {
      const lines = (rest + Buffer.from(chunk).toString("utf8")).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.#take(resource, JSON.parse(line), openedAt);
      yield chunk;
    }
  }

  #take(resource: Resource, event: unknown, openedAt: MonotonicMs): void {
    if (!isRecord(event) || !isRecord(event["object"])) return;
    const { type, object } = event;
    if (type === "BOOKMARK" || type === "ERROR") return;
    const now = this.#clock.monotonicMs();
    const how = elapsedMs(openedAt, now) < backlogMs ? "backlog" : "event";
    this.#reported.reported(
      resource,
      nameOf(object),
      type === "DELETED" ? undefined : object,
      now,
      how,
    );
  }
}

/** One object alone is asked for to prove that a watch is current. */
function isProof({ path }: KubeRequest): boolean {
  return new URLSearchParams(path.split("?")[1]).get("limit") === "1";
}

function resourceOf({ method, path }: KubeRequest): Resource | undefined {
  const [collection = ""] = path.split("?");
  return method === "GET" ? resources.find((one) => collection.endsWith(`/${one}`)) : undefined;
}

function nameOf(object: RawRecord): string {
  const metadata = isRecord(object["metadata"]) ? object["metadata"] : {};
  return `${String(metadata["namespace"])}/${String(metadata["name"])}`;
}
