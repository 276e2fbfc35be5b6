// A worker thread that serves encoded pods over real HTTP, so that the server's work does not count
// as the client's: pages of a list, the whole list in one body, a watch after it.
import { createServer } from "node:http";
import { parentPort, workerData } from "node:worker_threads";
import { listPages, listVersion, type PodForm, podJson, watchBytes } from "./bench-pods.ts";

export interface BenchServerData {
  readonly form: PodForm;
  readonly pods: number;
  readonly pageSize: number;
  readonly events: number;
}

const { form, pods, pageSize, events } = workerData as BenchServerData;
const pages = listPages(form, pods, pageSize);
const changes = watchBytes(form, pods, events);
const json = { "content-type": "application/json" };

const server = createServer((request, response) => {
  const query = new URL(request.url ?? "/", "http://server").searchParams;
  if (query.get("watch") !== null) {
    response.writeHead(200, json);
    response.write(changes);
  } else if (query.get("limit") === null) {
    response.writeHead(200, json);
    response.end(wholeList());
  } else {
    const page = pages[Number(query.get("continue") ?? 0) / pageSize];
    response.writeHead(200, { ...json, "content-length": page?.length ?? 0 });
    response.end(page);
  }
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  parentPort?.postMessage(typeof address === "object" ? address?.port : undefined);
});

let whole: Buffer | undefined;

/** Encoded at the first request and kept: only the client without pages asks for it. */
function wholeList(): Buffer {
  if (whole === undefined) {
    const items = Array.from({ length: pods }, (_, index) =>
      podJson(form, index, 1_000_000 + index),
    );
    const metadata = JSON.stringify({ resourceVersion: listVersion(pods) });
    whole = Buffer.from(
      `{"kind":"PodList","apiVersion":"v1","metadata":${metadata},"items":[${items.join(",")}]}\n`,
    );
  }
  return whole;
}
