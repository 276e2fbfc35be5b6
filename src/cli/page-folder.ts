// Where the built page is: beside the compiled program. Tests run the sources and find the same folder.
import { fileURLToPath } from "node:url";

export function pageFolder(): string {
  const isSource = import.meta.url.endsWith(".ts");
  const url = new URL(isSource ? "../../dist/ui" : "../../ui", import.meta.url);
  return fileURLToPath(url);
}
