// The files of `--save DIR`: the recordings of all stages of an incident, kept in memory until the
// play is over and then written to real files. A folder that is not empty is refused, so that
// nothing is overwritten and no old file is taken for a new one.
import type { Files } from "../../environment/files.ts";
import { type RecorderEnvironment, StageRecorder } from "./stage-recorder.ts";

export class SaveFolderError extends Error {
  override readonly name = "SaveFolderError";
  readonly code = "SAVE_FOLDER";
}

export interface Saved {
  readonly folder: string;
  readonly files: number;
  readonly bytes: number;
  /** `audit`, `cluster-info`, …: what there is, of each stage. */
  readonly parts: readonly string[];
}

/** Throws `SaveFolderError` unless the folder is absent or empty. */
export async function checkSaveFolder(files: Files, folder: string): Promise<void> {
  const names = await files.list(folder);
  if (names.length === 0) return;
  throw new SaveFolderError(
    `${folder} is not empty (${names.slice(0, 3).join(", ")}${names.length > 3 ? ", …" : ""}); ` +
      "name an empty or a new folder to save to",
  );
}

export class Recording {
  readonly #stages: StageRecorder[] = [];

  /** For a stage that was just opened: the environment of the machine that looks, and its name. */
  forStage(environment: RecorderEnvironment, machine?: string): StageRecorder {
    const recorder = new StageRecorder({ environment, ...(machine !== undefined && { machine }) });
    this.#stages.push(recorder);
    return recorder;
  }

  /** Path and content of everything; with several stages each has a folder of its own, in their order. */
  files(): readonly (readonly [path: string, content: string])[] {
    // A play may open a stage to measure one thing, with nothing on it that an operator would have.
    const recorded = this.#stages.map((stage) => stage.files()).filter(({ length }) => length > 0);
    return recorded.flatMap((stage, index) =>
      recorded.length === 1
        ? stage
        : stage.map(([path, content]) => [`stage-${index + 1}/${path}`, content] as const),
    );
  }

  async write(files: Files, folder: string): Promise<Saved> {
    const parts = new Set<string>();
    let bytes = 0;
    await files.makeDirectory(folder);
    const all = this.files();
    for (const [path, content] of all) {
      const file = `${folder}/${path}`;
      await files.makeDirectory(file.slice(0, file.lastIndexOf("/")));
      await files.write(file, content);
      parts.add(path.replace(/^stage-\d+\//, "").split("/")[0] ?? "");
      bytes += Buffer.byteLength(content);
    }
    return { folder, files: all.length, bytes, parts: [...parts].sort() };
  }
}
