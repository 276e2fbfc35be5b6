// The versions of Kubernetes whose controllers the lab can be, by the name people type.
import { kubernetes17 } from "./kubernetes-1-7.ts";
import { kubernetes19 } from "./kubernetes-1-9.ts";
import { kubernetes1173, kubernetes11713 } from "./kubernetes-1-17.ts";
import { kubernetes133 } from "./kubernetes-1-33.ts";
import { kubernetes136 } from "./kubernetes-1-36.ts";
import type { Profile } from "./profile.ts";

export type ProfileName = "1.7" | "1.9" | "1.17.3" | "1.17.13" | "1.33" | "1.36";

const profiles: Readonly<Record<ProfileName, Profile>> = {
  "1.7": kubernetes17,
  "1.9": kubernetes19,
  "1.17.3": kubernetes1173,
  "1.17.13": kubernetes11713,
  "1.33": kubernetes133,
  "1.36": kubernetes136,
};

/** Oldest first. */
export const profileNames: readonly ProfileName[] = [
  "1.7",
  "1.9",
  "1.17.3",
  "1.17.13",
  "1.33",
  "1.36",
];

export function profileNamed(name: ProfileName): Profile {
  return profiles[name];
}

/** client-go rest/config.go buildUserAgent. */
export function userAgentOf(
  program: string,
  { gitVersion, gitCommit }: Pick<Profile, "gitVersion" | "gitCommit">,
): string {
  return `${program}/${gitVersion} (linux/amd64) kubernetes/${gitCommit}`;
}
