// The addresses of a service and their families: fields that say one fact in several places and may
// be given in part. The cluster has one family, IPv4; asking for another is refused as a real
// cluster with one family does.

import { isIp, isIpv6 } from "../../environment/ip-address.ts";
import type { KubeObject } from "../kube-object.ts";
import { FieldErrors } from "./field-errors.ts";
import { ensureObject, type JsonObject, objectAt, objectsAt, textAt, textsAt } from "./fields.ts";
import { invalidIpMessage } from "./ip-messages.ts";
import { needsHealthCheck, nodePortNumbers, usesNodePorts } from "./service-types.ts";

export const headlessIp = "None";

const families = ["IPv4", "IPv6"];
const clusterFamily = "IPv4";
const familyPolicies = ["PreferDualStack", "RequireDualStack", "SingleStack"];

export function isHeadless(spec: JsonObject): boolean {
  return textAt(spec, "clusterIP") === headlessIp;
}

/** Fills what the client left out but the stored service has, and one form of an address from the other. */
export function linkAddresses(service: KubeObject, previous: KubeObject | undefined): void {
  const spec = ensureObject(service, "spec");
  const old = objectAt(previous, "spec");
  if (old === undefined) {
    if (textAt(spec, "clusterIP") !== "" && textsAt(spec, "clusterIPs").length === 0) {
      spec["clusterIPs"] = [spec["clusterIP"]];
    }
    return;
  }
  if (textAt(spec, "type") !== "ExternalName" && textAt(old, "type") !== "ExternalName") {
    keepAddresses(spec, old);
  }
  if (usesNodePorts(spec) && usesNodePorts(old)) {
    keepNodePorts(spec, old);
  }
  if (needsHealthCheck(spec) && needsHealthCheck(old)) {
    spec["healthCheckNodePort"] = spec["healthCheckNodePort"] || old["healthCheckNodePort"];
  }
  alignAddresses(spec, old);
}

/** Decides the families; refuses what this cluster cannot give. */
export function initFamilies(service: KubeObject, previous: KubeObject | undefined): void {
  const spec = ensureObject(service, "spec");
  if (textAt(spec, "type") === "ExternalName") {
    return;
  }
  const isFree = isHeadless(spec) && Object.keys(objectAt(spec, "selector") ?? {}).length === 0;
  spec["ipFamilyPolicy"] ??=
    objectAt(previous, "spec")?.["ipFamilyPolicy"] ?? (isFree ? "RequireDualStack" : "SingleStack");
  refuse(service, (errors) => validateAddresses(service, errors));
  refuse(service, (errors) => inferFamilies(spec, errors));
  const asked = textsAt(spec, "ipFamilies");
  if (isFree) {
    const [first = clusterFamily] = asked;
    const both = [first, families.find((family) => family !== first)];
    const isDual = spec["ipFamilyPolicy"] !== "SingleStack" && asked.length < 2;
    spec["ipFamilies"] = isDual ? both : asked.length === 0 ? [first] : asked;
    return;
  }
  refuse(service, (errors) => refuseOtherFamilies(spec, errors));
  if (asked.length === 0) {
    spec["ipFamilies"] = [clusterFamily];
  }
}

/** The rules among address, addresses, families and policy. */
export function validateAddresses(service: KubeObject, errors: FieldErrors): void {
  const spec = objectAt(service, "spec") ?? {};
  if (textAt(spec, "type") === "ExternalName") {
    return;
  }
  const address = textAt(spec, "clusterIP");
  const addresses = textsAt(spec, "clusterIPs");
  if (address !== "" && addresses.length === 0) {
    errors.required("spec.clusterIPs");
  } else if (address !== "" && addresses[0] !== address) {
    errors.invalid("spec.clusterIPs", addresses, "first value must match `clusterIP`");
  } else if (address === "" && addresses.length > 0) {
    const detail = "must be empty when `clusterIP` is not specified";
    errors.invalid("spec.clusterIPs", addresses, detail);
  }
  validateFamilies(spec, errors);
  if (areWellFormed(addresses, errors)) {
    validatePairs(addresses, isHeadless(spec) ? [] : textsAt(spec, "ipFamilies"), errors);
  }
}

/** What may not change once a service has an address. */
export function validateAddressChange(
  service: KubeObject,
  current: KubeObject,
  errors: FieldErrors,
): void {
  const spec = objectAt(service, "spec") ?? {};
  const old = objectAt(current, "spec") ?? {};
  if (textAt(spec, "type") === "ExternalName" || textAt(old, "type") === "ExternalName") {
    return;
  }
  const addresses = textsAt(spec, "clusterIPs");
  const before = textsAt(old, "clusterIPs");
  if (!(isHeadless(spec) && isHeadless(old))) {
    if (before.length > 0 && addresses.length === 0) {
      errors.invalid("spec.clusterIPs[0]", null, "primary clusterIP can not be unset");
    } else if (before.length > 0 && before[0] !== addresses[0]) {
      errors.invalid("spec.clusterIPs[0]", addresses, "may not change once set");
    }
  }
  const [family] = textsAt(spec, "ipFamilies");
  if (!isHeadless(spec) && !isHeadless(old) && family !== textsAt(old, "ipFamilies")[0]) {
    errors.invalid("spec.ipFamilies[0]", spec["ipFamilies"] ?? null, "may not change once set");
  }
}

function keepAddresses(spec: JsonObject, old: JsonObject): void {
  if (textAt(spec, "clusterIP") === "" && textAt(old, "clusterIP") !== "") {
    spec["clusterIP"] = old["clusterIP"];
  }
  if (textsAt(spec, "clusterIPs").length === 0 && textsAt(old, "clusterIPs").length > 0) {
    spec["clusterIPs"] = old["clusterIPs"];
  }
}

/** By the ports' names, unless the number is taken by another port of the new spec. */
function keepNodePorts(spec: JsonObject, old: JsonObject): void {
  const used = new Set(nodePortNumbers(spec));
  const known = new Map(objectsAt(old, "ports").map((port) => [textAt(port, "name"), port]));
  for (const port of objectsAt(spec, "ports")) {
    const number = known.get(textAt(port, "name"))?.["nodePort"];
    if (!port["nodePort"] && typeof number === "number" && !used.has(number)) {
      port["nodePort"] = number;
    }
  }
}

/** Old clients know only the one address; whichever form was changed decides. */
function alignAddresses(spec: JsonObject, old: JsonObject): void {
  const before = textsAt(old, "clusterIPs");
  const isListKept = textsAt(spec, "clusterIPs").join() === before.join();
  const address = textAt(spec, "clusterIP");
  if (address === textAt(old, "clusterIP") || !isListKept) {
    return;
  }
  if (address === "") {
    delete spec["clusterIPs"];
  } else {
    spec["clusterIPs"] = [address];
  }
}

function inferFamilies(spec: JsonObject, errors: FieldErrors): void {
  const addresses = textsAt(spec, "clusterIPs");
  const known = textsAt(spec, "ipFamilies");
  if (spec["ipFamilyPolicy"] === "SingleStack" && known.length === 2) {
    const detail =
      "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified";
    errors.invalid("spec.ipFamilyPolicy", spec["ipFamilyPolicy"], detail);
  }
  const [address = headlessIp] = addresses;
  if (address === headlessIp || known.length > 0) {
    return;
  }
  const family = familyOf(address);
  if (family === clusterFamily) {
    spec["ipFamilies"] = [family];
  } else {
    const detail = `${family} is not configured on this cluster`;
    errors.invalid("spec.clusterIPs[0]", addresses, detail);
  }
}

function refuseOtherFamilies(spec: JsonObject, errors: FieldErrors): void {
  if (spec["ipFamilyPolicy"] === "RequireDualStack") {
    const detail = "this cluster is not configured for dual-stack services";
    errors.invalid("spec.ipFamilyPolicy", spec["ipFamilyPolicy"], detail);
  }
  for (const [index, family] of textsAt(spec, "ipFamilies").entries()) {
    if (family !== clusterFamily) {
      errors.invalid(`spec.ipFamilies[${index}]`, family, "not configured on this cluster");
    }
  }
}

function validateFamilies(spec: JsonObject, errors: FieldErrors): void {
  const seen = new Set<string>();
  for (const [index, family] of textsAt(spec, "ipFamilies").entries()) {
    if (!families.includes(family)) {
      errors.notSupported(`spec.ipFamilies[${index}]`, family, families);
    }
    if (seen.has(family)) {
      errors.duplicate(`spec.ipFamilies[${index}]`, family);
    }
    seen.add(family);
  }
  const policy = spec["ipFamilyPolicy"];
  if (typeof policy === "string" && !familyPolicies.includes(policy)) {
    errors.notSupported("spec.ipFamilyPolicy", policy, familyPolicies);
  }
}

function areWellFormed(addresses: readonly string[], errors: FieldErrors): boolean {
  let allWell = true;
  for (const [index, address] of addresses.entries()) {
    if (index === 0 && address === headlessIp) {
      if (addresses.length > 1) {
        errors.invalid("spec.clusterIPs", addresses, "'None' must be the first and only value");
        allWell = false;
      }
    } else if (!isIp(address)) {
      errors.invalid(`spec.clusterIPs[${index}]`, address, invalidIpMessage);
      allWell = false;
    }
  }
  if (addresses.length > 2) {
    errors.invalid("spec.clusterIPs", addresses, "may only hold up to 2 values");
  }
  return allWell;
}

function validatePairs(
  addresses: readonly string[],
  known: readonly string[],
  errors: FieldErrors,
): void {
  if (addresses.length > 1 && new Set(addresses.map(familyOf)).size < addresses.length) {
    const detail = "may specify no more than one IP for each IP family";
    errors.invalid("spec.clusterIPs", addresses, detail);
  }
  for (const [index, address] of addresses.entries()) {
    const family = known[index];
    if (family !== undefined && families.includes(family) && family !== familyOf(address)) {
      const detail = `expected an ${family} value as indicated by \`ipFamilies[${index}]\``;
      errors.invalid(`spec.clusterIPs[${index}]`, address, detail);
    }
  }
}

function familyOf(address: string): string {
  return isIpv6(address) ? "IPv6" : "IPv4";
}

function refuse(service: KubeObject, check: (errors: FieldErrors) => void): void {
  const errors = new FieldErrors();
  check(errors);
  errors.throwIfAny({ group: "", kind: "Service" }, service.metadata.name);
}
