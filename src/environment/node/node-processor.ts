// The processor time of this process as the kernel counts it. The function is taken at import: a
// simulation in the same process replaces the ambient one.
import type { Processor } from "../processor.ts";

const read = process.cpuUsage.bind(process);

export const nodeProcessor: Processor = {
  usedMs: () => {
    const { user, system } = read();
    return (user + system) / 1000;
  },
};
