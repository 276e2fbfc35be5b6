// Every kind whose objects the contract compares field by field.
import { clusterSubjects } from "./cluster.ts";
import { podSubject, workloadSubjects } from "./pods.ts";
import { serviceSubjects } from "./services.ts";
import type { Subject } from "./subject.ts";

export const allSubjects: readonly Subject[] = [
  podSubject,
  ...workloadSubjects,
  ...serviceSubjects,
  ...clusterSubjects,
];
