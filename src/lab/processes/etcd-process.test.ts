// An etcd that is not there; one that is, is started in the end-to-end tests.
import { expect, it } from "vitest";
import { nodeEnvironment } from "../../environment/node/node-environment.ts";
import { EtcdMissingError, startEtcd } from "./etcd-process.ts";

it("says what to install when there is no etcd, before it makes a folder", async () => {
  const environment = nodeEnvironment();
  const folder = "/proc/no-folder-can-be-made-here";
  const started = startEtcd({ environment, folder, program: "no-such-etcd" });
  await expect(started).rejects.toEqual(
    new EtcdMissingError(
      "etcd is not installed. Install it (Debian: apt-get install etcd-server), " +
        "or name one that runs: --store etcd=http://127.0.0.1:2379",
    ),
  );
});
