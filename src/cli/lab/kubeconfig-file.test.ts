import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodeFiles as files } from "../../environment/node/node-files.ts";
import { kubeconfig } from "../../lab/kubeconfig.ts";
import { refuseKubeconfigFile } from "./kubeconfig-file.ts";

describe("the file for a lab's kubeconfig", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await files.temporaryDirectory("kubeconfig-file-");
  });
  afterAll(() => files.remove(folder));

  it("may be new, or one that a lab has left, and nothing is written to it yet", async () => {
    const left = kubeconfig([]);
    await files.write(`${folder}/left.yaml`, left);
    await refuseKubeconfigFile(files, `${folder}/left.yaml`);
    await refuseKubeconfigFile(files, `${folder}/new.yaml`);
    expect(await files.list(folder)).toEqual(["left.yaml"]);
    expect(Buffer.from((await files.read(`${folder}/left.yaml`)) ?? []).toString()).toBe(left);
  });

  it("is somebody else's when no lab has written it", async () => {
    await files.write(`${folder}/mine.yaml`, "apiVersion: v1\n");
    await expect(refuseKubeconfigFile(files, `${folder}/mine.yaml`)).rejects.toMatchObject({
      code: "USAGE",
      message: expect.stringContaining("was not written by lockstep lab, so it is left alone"),
    });
  });

  it.each([
    ["in no folder", "absent/x.yaml", (place: string) => `there is no folder ${place}/absent`],
    ["a folder", "", () => "EISDIR: illegal operation on a directory"],
    ["below a file", "file/x.yaml", () => "ENOTDIR: not a directory"],
    ["too long a name", `${"long".repeat(60)}.yaml`, () => "ENAMETOOLONG: name too long"],
  ])("is refused in words where it cannot be written: %s", async (_, name, reason) => {
    await files.write(`${folder}/file`, "");
    const path = name === "" ? folder : `${folder}/${name}`;
    await expect(refuseKubeconfigFile(files, path)).rejects.toMatchObject({
      code: "USAGE",
      message: `the kubeconfig cannot be written to ${path}: ${reason(folder)}`,
    });
  });
});
