// Reads what two clusters are compared by: version, flags of the control plane, roles, and Endpoints for
// their labels. It samples nothing, so it takes as long as the lists.
import { countsOf, type LiveOptions, listsOf, readLists, readVersion } from "./examine-cluster.ts";
import { liveKinds, roleKinds } from "./live-kinds.ts";

export interface ComparedOptions extends Pick<LiveOptions, "reader" | "gathered" | "onProgress"> {
  /** Called before the lists. */
  readonly onCost: (lists: number) => void;
}

const comparedKinds = [
  ...liveKinds.filter(({ kind }) => kind === "Endpoints" || kind === "Pod"),
  ...roleKinds,
];

/** Rejects only when the signal of the reader aborts. */
export async function readCompared(options: ComparedOptions): Promise<void> {
  const { reader, gathered, onCost, onProgress } = options;
  onProgress("counting objects", "");
  await readVersion(reader, gathered);
  const counts = await countsOf(reader, comparedKinds);
  if (reader.answers === 0) return;
  onCost(listsOf(counts));
  await readLists(options, comparedKinds, () => undefined);
}
