import { expect, it } from "vitest";
import { nearestProfile } from "./nearest-profile.ts";

it.each([
  ["v1.6.13", "1.7"],
  ["v1.7.16", "1.7"],
  ["v1.8.0", "1.9"],
  ["v1.15.12", "1.9"],
  ["v1.16.15", "1.17.3"],
  ["v1.17.3", "1.17.3"],
  ["v1.17.12", "1.17.3"],
  ["v1.17.13", "1.17.13"],
  ["v1.18.9-eks-abc", "1.17.3"],
  ["v1.18.10+k3s1", "1.17.13"],
  ["v1.19.2", "1.17.3"],
  ["v1.19.3", "1.17.13"],
  ["v1.20.2", "1.17.13"],
  ["v1.21.0", "1.33"],
  ["v1.34.1", "1.33"],
  ["v1.35.0", "1.36"],
  ["v1.36.0", "1.36"],
  ["unheard of", "1.33"],
])("simulates %s as %s", (gitVersion, profile) => {
  expect(nearestProfile(gitVersion)).toBe(profile);
});
