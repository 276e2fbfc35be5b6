import { expect, test } from "vitest";
import { simulate } from "../../../simulation/simulation.ts";
import { VirtualPlane } from "./virtual-plane.ts";

test("answers at its status port what it was handed over last, as ingress-nginx does", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const environment = simulation.host("proxy");
    const listen = { host: "proxy", port: 8080, statusPort: 10_246 };
    const plane = new VirtualPlane({ ...environment, ...listen });
    await plane.start();
    const backends = [{ name: "shop", endpoints: [{ address: "10.0.0.1", port: 80 }] }];
    await plane.push(backends);
    const url = "http://proxy:10246/configuration/backends";
    const ask = () => simulation.host("reader").network.request({ method: "GET", url });
    const { status, body } = await ask();
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    expect(status).toBe(200);
    expect(JSON.parse(Buffer.concat(chunks).toString("utf8"))).toEqual(backends);
    await plane.stop();
    await expect(ask()).rejects.toMatchObject({ code: "REFUSED" });
  }));
