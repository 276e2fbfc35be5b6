// How many requests the endpoints controller sends for a sync that has nothing to say: a figure that
// no watch shows, because a PUT that changes nothing is no event.
import { type Answer, type Side, send, type Witness } from "./side.ts";

export interface Puts {
  readonly ordinary: number;
  /** Of a service that has the label of headless services itself. */
  readonly headlessLabel: number;
  /** Of a service with more addresses than fit into its Endpoints. */
  readonly overCapacity: number;
}

const namespace = "puts";
const services = `/api/v1/namespaces/${namespace}/services`;

/** Syncs of each service that find everything as it was. */
export const idleSyncs = 3;

/** `crowd` is a namespace with a service `web` that is over its capacity. */
export async function countPuts(side: Side, witness: Witness, crowd: string): Promise<Puts> {
  const { client } = side;
  await send(client, "POST", "/api/v1/namespaces", { metadata: { name: namespace } });
  const create = (name: string, labels: object): Promise<Answer> =>
    send(client, "POST", services, {
      metadata: { name, labels },
      spec: { selector: { app: "nobody" }, ports: [{ port: 80 }] },
    });
  await create("ordinary", {});
  await create("labelled", { "service.kubernetes.io/headless": "" });
  const measure = async (service: string): Promise<number> => {
    await side.settle(witness);
    const before = await putsOf(side);
    for (let sync = 0; sync < idleSyncs; sync += 1) {
      const annotations = { sync: String(sync) };
      await send(client, "PATCH", service, { metadata: { annotations } });
      await side.settle(witness);
    }
    return (await putsOf(side)) - before;
  };
  return {
    ordinary: await measure(`${services}/ordinary`),
    headlessLabel: await measure(`${services}/labelled`),
    overCapacity: await measure(`/api/v1/namespaces/${crowd}/services/web`),
  };
}

/** PUTs of Endpoints that the server has answered so far. */
async function putsOf({ client }: Side): Promise<number> {
  const { body } = await client.request({ verb: "get", method: "GET", path: "/metrics" });
  const lines = body.toString("utf8").matchAll(/^apiserver_request_total\{([^}]*)\} (\d+)$/gm);
  let sum = 0;
  for (const [, labels = "", count] of lines) {
    if (labels.includes('resource="endpoints"') && labels.includes('verb="PUT"')) {
      sum += Number(count);
    }
  }
  return sum;
}
