// The contract over the real thing, and what only the real thing can show.
import { stat } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { filesContract } from "../files.contract.ts";
import { ownerOnly } from "../files.ts";
import { nodeFiles } from "./node-files.ts";

describe("real files", () => {
  filesContract((test) => test(nodeFiles));

  it("have the mode that was asked for, whatever the umask", async () => {
    const directory = await nodeFiles.temporaryDirectory("node-files-");
    const previous = process.umask(0o077);
    try {
      await nodeFiles.write(`${directory}/open`, "content", { mode: 0o644 });
      await nodeFiles.write(`${directory}/secret`, "content", { mode: 0o600 });
      await nodeFiles.write(`${directory}/secret`, "again", { mode: 0o600 });
      const modes = await Promise.all(
        ["open", "secret"].map(async (name) => (await stat(`${directory}/${name}`)).mode & 0o777),
      );
      expect(modes).toEqual([0o644, 0o600]);
    } finally {
      process.umask(previous);
      await nodeFiles.remove(directory);
    }
  });

  it("get another mode, unless they are absent", async () => {
    const directory = await nodeFiles.temporaryDirectory("node-files-");
    await nodeFiles.write(`${directory}/log`, "content", { mode: 0o644 });
    await nodeFiles.setMode(`${directory}/log`, ownerOnly);
    await nodeFiles.setMode(`${directory}/absent`, ownerOnly);
    expect((await stat(`${directory}/log`)).mode & 0o777).toBe(0o600);
    await nodeFiles.remove(directory);
  });

  it("are open to others only below folders that all are", async () => {
    const directory = await nodeFiles.temporaryDirectory("node-files-");
    const path = `${directory}/above/below`;
    await nodeFiles.makeDirectory(path);
    const areOpen: boolean[] = [];
    for (const mode of [0o711, 0o700]) {
      for (const one of [directory, `${directory}/above`, path])
        await nodeFiles.setMode(one, 0o711);
      await nodeFiles.setMode(`${directory}/above`, mode);
      areOpen.push(await nodeFiles.isOpenToOthers(path));
    }
    expect(areOpen).toEqual([true, false]);
    await nodeFiles.remove(directory);
  });

  it("fail with a sentence that says what was tried where", async () => {
    const directory = await nodeFiles.temporaryDirectory("node-files-");
    const path = `${directory}/absent/file`;
    await expect(nodeFiles.write(path, "content")).rejects.toMatchObject({
      code: "FAILED",
      path,
      message: expect.stringMatching(`^cannot write ${path}: ENOENT`),
    });
    await nodeFiles.remove(directory);
  });

  it("give up on a folder where the system allows none, rather than try for ever", async () => {
    const path = "/proc/lockstep/below";
    await expect(nodeFiles.makeDirectory(path)).rejects.toMatchObject({
      path,
      message: expect.stringMatching(`^cannot make the folder ${path}: `),
    });
  });
});
