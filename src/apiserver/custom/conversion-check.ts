// How objects are converted between versions, as the definition says it.
import type { FieldErrors } from "../kinds/field-errors.ts";
import { objectAt, textAt, textsAt } from "../kinds/fields.ts";
import { dns1035Label } from "../kinds/names.ts";
import type { KubeObject } from "../kube-object.ts";
import { keyPath } from "./field-path.ts";

/** The versions of ConversionReview that real servers speak. */
const reviewVersions = ["v1", "v1beta1"];

export function checkConversion(definition: KubeObject, errors: FieldErrors): void {
  const conversion = objectAt(definition, "spec", "conversion");
  if (conversion === undefined) return;
  const strategy = textAt(conversion, "strategy");
  errors.oneOf("spec.conversion.strategy", strategy, ["None", "Webhook"]);
  const config = objectAt(conversion, "webhook", "clientConfig");
  const versions = textsAt(conversion, "webhook", "conversionReviewVersions");
  const configPath = "spec.conversion.webhookClientConfig";
  const versionsPath = "spec.conversion.conversionReviewVersions";
  if (strategy !== "Webhook") {
    const detail = "should not be set when strategy is not set to Webhook";
    if (config !== undefined) errors.forbidden(configPath, detail);
    if (versions.length > 0) errors.forbidden(versionsPath, detail);
    return;
  }
  if (config === undefined) {
    errors.required(configPath, "required when strategy is set to Webhook");
  } else if ((config["url"] === undefined) === (config["service"] === undefined)) {
    errors.required(configPath, "exactly one of url or service is required");
  }
  checkReviewVersions(versions, versionsPath, errors);
}

function checkReviewVersions(versions: readonly string[], path: string, errors: FieldErrors): void {
  if (versions.length === 0) {
    errors.required(path);
    return;
  }
  for (const [index, version] of versions.entries()) {
    if (versions.indexOf(version) < index) {
      errors.invalid(keyPath(path, index), version, "duplicate version");
    } else {
      errors.invalidForEach(keyPath(path, index), version, dns1035Label(version));
    }
  }
  if (!versions.some((version) => reviewVersions.includes(version))) {
    const detail = `must include at least one of ${reviewVersions.join(", ")}`;
    errors.invalid(path, versions, detail);
  }
}
