// Defaults of a pod's spec, shared by Pods and by the templates in Deployments and ReplicaSets. The
// rules are in pod-rules.ts.
import {
  ensureObject,
  isJsonObject,
  type JsonObject,
  objectAt,
  objectsAt,
  setDefaults,
  textAt,
} from "./fields.ts";

const probeFields = ["livenessProbe", "readinessProbe", "startupProbe"];

/** Seconds between TERM and KILL unless the pod says otherwise. */
const defaultGraceSeconds = 30;

export function setPodSpecDefaults(spec: JsonObject): void {
  setDefaults(spec, {
    dnsPolicy: "ClusterFirst",
    restartPolicy: "Always",
    schedulerName: "default-scheduler",
    securityContext: {},
    terminationGracePeriodSeconds: defaultGraceSeconds,
  });
  agreeServiceAccount(spec);
  for (const container of [
    ...objectsAt(spec, "initContainers"),
    ...objectsAt(spec, "containers"),
  ]) {
    setContainerDefaults(container);
  }
  for (const volume of objectsAt(spec, "volumes")) {
    setVolumeDefaults(volume);
  }
}

/** The field had another name once; each is filled from the other. */
function agreeServiceAccount(spec: JsonObject): void {
  const name = textAt(spec, "serviceAccountName") || textAt(spec, "serviceAccount");
  if (name !== "") {
    spec["serviceAccountName"] = name;
    spec["serviceAccount"] = name;
  }
}

/** Only of pods: a template keeps what it says, and each pod made from it gets this. */
export function setRequestDefaults(spec: JsonObject): void {
  for (const container of [
    ...objectsAt(spec, "containers"),
    ...objectsAt(spec, "initContainers"),
  ]) {
    const limits = objectAt(container, "resources", "limits");
    if (limits !== undefined) {
      setDefaults(ensureObject(ensureObject(container, "resources"), "requests"), limits);
    }
  }
}

function setContainerDefaults(container: JsonObject): void {
  setDefaults(container, {
    imagePullPolicy: imageTag(textAt(container, "image")) === "latest" ? "Always" : "IfNotPresent",
    resources: {},
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
  });
  for (const field of probeFields) {
    const probe = container[field];
    if (isJsonObject(probe)) {
      setProbeDefaults(probe);
    }
  }
  for (const hook of ["preStop", "postStart"]) {
    setHttpGetDefaults(objectAt(container, "lifecycle", hook, "httpGet"));
  }
  for (const variable of objectsAt(container, "env")) {
    const reference = objectAt(variable, "valueFrom", "fieldRef");
    if (reference !== undefined) {
      setDefaults(reference, { apiVersion: "v1" });
    }
  }
}

function setProbeDefaults(probe: JsonObject): void {
  for (const [field, value] of Object.entries({
    timeoutSeconds: 1,
    periodSeconds: 10,
    successThreshold: 1,
    failureThreshold: 3,
  })) {
    if (probe[field] === undefined || probe[field] === 0) {
      probe[field] = value;
    }
  }
  setHttpGetDefaults(objectAt(probe, "httpGet"));
}

function setHttpGetDefaults(action: JsonObject | undefined): void {
  if (action !== undefined) {
    setDefaults(action, { path: "/", scheme: "HTTP" });
  }
}

/** Mode of files from Secrets, ConfigMaps and projections, in decimal as JSON has it. */
const defaultFileMode = 0o644;

function setVolumeDefaults(volume: JsonObject): void {
  for (const source of ["secret", "configMap", "downwardAPI", "projected"]) {
    const value = volume[source];
    if (isJsonObject(value)) {
      setDefaults(value, { defaultMode: defaultFileMode });
    }
  }
  const host = volume["hostPath"];
  if (isJsonObject(host)) {
    host["type"] ??= "";
  }
  const sources = Object.keys(volume).filter((field) => field !== "name");
  if (sources.length === 0) {
    volume["emptyDir"] = {};
  }
}

const imageReference =
  /^([A-Za-z0-9.-]+(:\d+)?\/)?[a-z0-9]+([._-]+[a-z0-9]+)*(\/[a-z0-9]+([._-]+[a-z0-9]+)*)*(:\w[\w.-]*)?$/;

/** The longest name a repository may have. */
const imageMaxLength = 255;

/** The tag of an image reference; `latest` when it names neither tag nor digest, "" for no image. */
function imageTag(image: string): string {
  if (image.length > imageMaxLength || !imageReference.test(image)) {
    return "";
  }
  const name = image.slice(image.lastIndexOf("/") + 1);
  const colon = name.indexOf(":");
  return colon < 0 ? "latest" : name.slice(colon + 1);
}
