import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodeFiles as files } from "../../../environment/node/node-files.ts";
import { refuseKubeconfigFile, writeKubeconfigFile } from "./kubeconfig-file.ts";

describe("the file for a lab's kubeconfig", () => {
  /** The processes that run. */
  const running = new Set([7]);
  const processes = { pid: 7, isAlive: (pid: number) => running.has(pid) };
  const environment = { files, processes };
  let folder: string;
  beforeAll(async () => {
    folder = await files.temporaryDirectory("kubeconfig-file-");
  });
  afterAll(() => files.remove(folder));

  const read = async (path: string) => Buffer.from((await files.read(path)) ?? []).toString();

  it("is written and removed again, and may be a new one only", async () => {
    const path = `${folder}/new.yaml`;
    await refuseKubeconfigFile(environment, path);
    expect(await files.list(folder)).toEqual([]);
    const remove = await writeKubeconfigFile(environment, path, "kind: Config\n");
    expect(await read(path)).toMatch(
      /^# Written by lockstep lab, process 7, .*\n#.*\nkind: Config\n$/,
    );
    expect([await remove(), await remove(), await files.list(folder)]).toEqual([true, true, []]);
  });

  it("may be one that a killed lab has left", async () => {
    const path = `${folder}/left.yaml`;
    await writeKubeconfigFile(environment, path, "kind: Config\n");
    running.clear();
    await expect(refuseKubeconfigFile(environment, path)).resolves.toBeUndefined();
    running.add(7);
    await files.remove(path);
  });

  it("stays when it was changed", async () => {
    const path = `${folder}/changed.yaml`;
    const remove = await writeKubeconfigFile(environment, path, "kind: Config\n");
    await files.append(path, "# mine\n");
    expect(await remove()).toBe(false);
    running.clear();
    await expect(refuseKubeconfigFile(environment, path)).rejects.toThrow("is not overwritten");
    running.add(7);
    await files.remove(path);
  });

  it("is not taken from a lab that runs", async () => {
    const path = `${folder}/running.yaml`;
    await writeKubeconfigFile(environment, path, "kind: Config\n");
    await expect(refuseKubeconfigFile(environment, path)).rejects.toMatchObject({
      code: "USAGE",
      message: `${path} belongs to a running lab, process 7. Give another file with --kubeconfig.`,
    });
    await files.remove(path);
  });

  it.each(["apiVersion: v1\n", ""])("is left alone when no lab has written it", async (content) => {
    await files.write(`${folder}/mine.yaml`, content);
    await expect(refuseKubeconfigFile(environment, `${folder}/mine.yaml`)).rejects.toMatchObject({
      code: "USAGE",
      message:
        `${folder}/mine.yaml exists. It was not written by lockstep lab, or was changed ` +
        `since, so it is not overwritten.\nGive another file with --kubeconfig, or remove ` +
        "it first.",
    });
  });

  it.each([
    ["in no folder", "absent/x.yaml", (place: string) => `folder ${place}/absent does not exist`],
    ["a folder", "", () => "EISDIR: illegal operation on a directory"],
    ["below a file", "file/x.yaml", () => "ENOTDIR: not a directory"],
    ["too long a name", `${"long".repeat(60)}.yaml`, () => "ENAMETOOLONG: name too long"],
  ])("is refused in words where it cannot be written: %s", async (_, name, reason) => {
    await files.write(`${folder}/file`, "");
    const path = name === "" ? folder : `${folder}/${name}`;
    await expect(refuseKubeconfigFile(environment, path)).rejects.toMatchObject({
      code: "USAGE",
      message: `the kubeconfig cannot be written to ${path}: ${reason(folder)}`,
    });
  });
});
