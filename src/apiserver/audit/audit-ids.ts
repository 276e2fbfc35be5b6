// Ids of requests, different for all servers and requests. They are not drawn, because only those
// requests have one that somebody writes down, and a run must be the same whether that is so or not.
import { createHash } from "node:crypto";

/** A function that gives another id each time, in the form of a random UUID. */
export function auditIds(server: string): () => string {
  let requests = 0;
  return () => {
    requests += 1;
    const hex = createHash("sha256").update(`${server} ${requests}`).digest("hex");
    const parts = [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`];
    return [...parts, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join("-");
  };
}
