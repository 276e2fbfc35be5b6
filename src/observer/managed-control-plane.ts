// What cannot be observed where somebody else runs the control plane. Every hop shows outside of it;
// only why a controller is late does not.

/** What only whoever runs the control plane can see. */
export const hiddenInManagedControlPlane: readonly string[] = [
  "the queues and the rate limit of the endpoint controllers",
  "the flags of the control plane's components",
  "their logs",
];
