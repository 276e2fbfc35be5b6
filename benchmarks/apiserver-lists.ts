// Lists of all the Endpoints that the creates have left: in one body and in pages, beside encoding
// the same objects with JSON.stringify, which is what a server without kept encodings would do.
import type { RawAnswer, RawConnection } from "./apiserver-connection.ts";
import { endpointsCount } from "./apiserver-creates.ts";
import type { BenchServer } from "./bench-server.ts";
import { atMost, type Figures, median, plain } from "./benchmark.ts";

const turns = 7;
const pageSize = 500;
const path = "/api/v1/endpoints";

export async function measureLists(
  server: BenchServer,
  progress: (step: string) => void,
): Promise<Figures> {
  const connection = await server.connect();
  const wholes: number[] = [];
  const paged: number[] = [];
  const encodings: number[] = [];
  const cpu: number[] = [];
  const { items, bodyBytes } = await itemsOf(server, connection);
  for (let turn = 1; turn <= turns; turn += 1) {
    progress(`list, turn ${turn} of ${turns}`);
    const cpuBefore = await server.cpuMicroseconds();
    wholes.push(await timed(() => listWhole(server, connection)));
    cpu.push((await server.cpuMicroseconds()) - cpuBefore);
    paged.push(await timed(() => listPaged(server, connection)));
    encodings.push(await timed(() => Promise.resolve(Buffer.byteLength(JSON.stringify(items)))));
  }
  const overEncoding = (times: readonly number[]): number =>
    median(times.map((ms, at) => ms / (encodings[at] ?? 0)));
  return {
    list13000Ms: plain(median(wholes), "ms", `${endpointsCount} Endpoints in one body`),
    list13000Megabytes: plain(bodyBytes / 1e6, "MB"),
    listServerMs: plain(median(cpu) / 1000, "ms", "processor time of the server, TLS included"),
    stringify13000Ms: plain(median(encodings), "ms", "JSON.stringify of the same objects"),
    listRatio: atMost(overEncoding(wholes), 1, "× stringify"),
    listPaged13000Ms: plain(median(paged), "ms", `pages of ${pageSize}`),
    listPagedRatio: atMost(overEncoding(paged), 2, "× stringify"),
  };
}

async function itemsOf(server: BenchServer, connection: RawConnection) {
  const { chunks, bodyBytes } = await get(server, connection, path);
  const list: { items: unknown[] } = JSON.parse(Buffer.concat(chunks).toString("utf8"));
  if (list.items.length < endpointsCount) {
    throw new Error(`the list has ${list.items.length} items`);
  }
  return { items: list.items, bodyBytes };
}

async function listWhole(server: BenchServer, connection: RawConnection): Promise<number> {
  return (await get(server, connection, path)).bodyBytes;
}

async function listPaged(server: BenchServer, connection: RawConnection): Promise<number> {
  let bytes = 0;
  let next: string | undefined = "";
  while (next !== undefined) {
    const query: string = `limit=${pageSize}&continue=${encodeURIComponent(next)}`;
    const page = await get(server, connection, `${path}?${query}`);
    bytes += page.bodyBytes;
    next = continueToken(page);
  }
  return bytes;
}

/** It stands in the list's metadata, before the items. */
function continueToken({ chunks }: RawAnswer): string | undefined {
  const start = Buffer.concat(chunks).toString("utf8", 0, 1000);
  return /"continue":"([^"]+)"/.exec(start)?.[1];
}

async function get(
  server: BenchServer,
  connection: RawConnection,
  target: string,
): Promise<RawAnswer> {
  const answer = await connection.exchange(server.get(target));
  if (answer.status !== 200) {
    throw new Error(`GET ${target} was answered with ${answer.status}`);
  }
  return answer;
}

async function timed(work: () => Promise<number>): Promise<number> {
  const startedAt = performance.now();
  if ((await work()) === 0) {
    throw new Error("nothing was measured");
  }
  return performance.now() - startedAt;
}
