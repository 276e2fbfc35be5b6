// The clock that all processes of this machine share: each has a monotonic clock of its own, which
// is this one from another beginning.

/** To add to what this process's monotonic clock shows. */
export const sharedClockOffsetMs = Number(process.hrtime.bigint()) / 1e6 - performance.now();
