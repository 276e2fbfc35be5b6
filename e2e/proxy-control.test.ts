// The contract of the control socket, kept by nginx; the twin keeps it in virtual time.
import { describe } from "vitest";
import { controlContract } from "../src/outputs/nginx/control.contract.ts";
import { ProxyWorld, withoutNginx } from "./proxy-world.ts";

describe.skipIf(withoutNginx !== false)("nginx's control socket", () => {
  controlContract((test) =>
    ProxyWorld.use(async (world) => {
      await world.supervisor().start();
      const status = async (host: string) => (await world.ask(host)).status;
      const backend = await world.backend("closed");
      await backend.close();
      const [address = "", port] = backend.peer.split(":");
      const closed = { address, port: Number(port) };
      await test({ control: world.control(), status, closed });
    }),
  );
});
