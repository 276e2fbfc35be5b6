// The folder with the built page, which the commands that serve it read.
import { fileURLToPath } from "node:url";

/** Beside the compiled program, or in the build when this file is a source. */
const built = import.meta.url.endsWith(".ts") ? "../../dist/ui" : "../../ui";

export const pageFolder = fileURLToPath(new URL(built, import.meta.url));
