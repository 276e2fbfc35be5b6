// The table of the versions of Kubernetes that the lab can be.
import { kubernetes17 } from "./kubernetes-1-7.ts";
import { kubernetes19 } from "./kubernetes-1-9.ts";
import { kubernetes1173, kubernetes11713 } from "./kubernetes-1-17.ts";
import { kubernetes133 } from "./kubernetes-1-33.ts";
import { kubernetes136 } from "./kubernetes-1-36.ts";
import type { Profile } from "./profile.ts";

/** By the name people type, oldest first. */
const profiles = {
  "1.7": kubernetes17,
  "1.9": kubernetes19,
  "1.17.3": kubernetes1173,
  "1.17.13": kubernetes11713,
  "1.33": kubernetes133,
  "1.36": kubernetes136,
} as const satisfies Readonly<Record<string, Profile>>;

export type ProfileName = keyof typeof profiles;

// `keys` gives names in the order of the table: they are no integers.
export const profileNames = Object.keys(profiles) as readonly ProfileName[];

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
