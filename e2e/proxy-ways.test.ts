// An ordinary route is served on the straight way, which reads no rules: half of what a request costs
// in Lua is on the other one. The proxy runs with a copy of its Lua that writes the way into the answer.
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { findProxyDirectory } from "../src/outputs/nginx/nginx-prefix.ts";
import { ProxyWorld, withoutNginx } from "./proxy-world.ts";
import { exchange } from "./raw-clients.ts";

const { files } = nodeEnvironment();
const ordinary = "shop.example";

/** In place of the last line of admission.lua. */
const reporting = `
local straight, whole = _M.admit_straight, _M.admit
_M.admit_straight = function(...)
    ngx.header["x-way"] = "straight"
    return straight(...)
end
_M.admit = function(...)
    ngx.header["x-way"] = "whole"
    return whole(...)
end
return _M
`;

let directory = "";

beforeAll(async () => {
  directory = await files.temporaryDirectory("lockstep-e2e-ways-");
  await cp(await findProxyDirectory(files), directory, { recursive: true });
  const path = join(directory, "lua", "lockstep", "admission.lua");
  const text = await readFile(path, "utf8");
  const reported = text.replace(/\nreturn _M\n$/, reporting);
  expect(reported).not.toBe(text);
  await writeFile(path, reported);
});

afterAll(() => files.remove(directory));

describe.skipIf(withoutNginx !== false)("a request of an ordinary route", () => {
  it("takes the straight way once its worker knows the route", () =>
    ProxyWorld.use(async (world) => {
      // One worker: each learns the routes by itself.
      await world.supervisor({ proxyDirectory: directory, workers: 1 }).start();
      const [first, second] = [await world.backend("first"), await world.backend("second")];
      const pusher = world.pusher();
      const hosts = { [ordinary]: "d/shop", "*.wild.example": "d/shop" };
      await pusher.push({ hosts, services: { "d/shop": [first.peer] } });
      const way = async (request: string, host = ordinary): Promise<string> => {
        const head = `${request} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n`;
        const answer = await exchange({ host: "127.0.0.1", port: world.port }, [
          `${head}Content-Length: 0\r\n\r\n`,
        ]);
        return /^x-way: (\w+)/im.exec(answer)?.[1] ?? answer;
      };
      expect(await way("GET /")).toBe("whole");
      expect(await way("GET /")).toBe("straight");
      expect(await way("POST /cart/1?x=y")).toBe("straight");
      expect(await way("GET /;v=1")).toBe("straight");
      // Other endpoints have to be learned once, the route not.
      await pusher.push({ hosts, services: { "d/shop": [second.peer] } });
      expect(await way("GET /")).toBe("whole");
      expect(await way("GET /")).toBe("straight");
      // Clients can invent such names, so they are not kept.
      for (const expected of ["whole", "whole"]) {
        expect(await way("GET /", "any.wild.example")).toBe(expected);
      }
    }));
});
