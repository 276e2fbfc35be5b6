// What a Table shows of the kinds that keep pods running, and of their scale.
import {
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
  textMapAt,
} from "../kinds/fields.ts";
import { formatLabelSelector } from "../select/label-selector.ts";
import {
  ageColumn,
  ageOf,
  type Column,
  type KindColumns,
  nameColumn,
  nameOf,
  numberColumn,
  textColumn,
  wideColumn,
} from "./columns.ts";
import { labelsText, selectorText } from "./label-text.ts";

const templateColumns: readonly Column[] = [
  wideColumn("Containers", "The names of the containers in the pod template."),
  wideColumn("Images", "The images of the containers in the pod template."),
];

const selectorColumn = wideColumn("Selector", "The labels by which its pods are found.");

const replicaColumns: readonly Column[] = [
  nameColumn,
  numberColumn("Desired", "How many pods are wanted."),
  numberColumn("Current", "How many pods there are."),
  numberColumn("Ready", "How many pods are ready."),
  ageColumn,
  ...templateColumns,
  selectorColumn,
];

export const replicaSetColumns: KindColumns = {
  columns: replicaColumns,
  cells: (set, now) => [
    nameOf(set),
    count(set, "spec", "replicas"),
    count(set, "status", "replicas"),
    count(set, "status", "readyReplicas"),
    ageOf(set, now),
    ...templateCells(set),
    selectorText(objectAt(set, "spec", "selector")),
  ],
};

export const replicationControllerColumns: KindColumns = {
  columns: replicaColumns,
  cells: (controller, now) => [
    ...replicaSetColumns.cells(controller, now).slice(0, -1),
    labelsText(textMapAt(controller, "spec", "selector")),
  ],
};

export const deploymentColumns: KindColumns = {
  columns: [
    nameColumn,
    textColumn("Ready", "How many of the wanted pods are ready."),
    textColumn("Up-to-date", "How many pods are of the present template."),
    textColumn("Available", "How many pods have been ready for long enough."),
    ageColumn,
    ...templateColumns,
    selectorColumn,
  ],
  cells: (deployment, now) => [
    nameOf(deployment),
    `${count(deployment, "status", "readyReplicas")}/${count(deployment, "spec", "replicas")}`,
    count(deployment, "status", "updatedReplicas"),
    count(deployment, "status", "availableReplicas"),
    ageOf(deployment, now),
    ...templateCells(deployment),
    // Alone among its like, it leaves the cell of an empty selector empty.
    formatLabelSelector(objectAt(deployment, "spec", "selector")),
  ],
};

export const statefulSetColumns: KindColumns = {
  columns: [
    nameColumn,
    textColumn("Ready", "How many of the wanted pods are ready."),
    ageColumn,
    ...templateColumns,
  ],
  cells: (set, now) => [
    nameOf(set),
    `${count(set, "status", "readyReplicas")}/${count(set, "spec", "replicas")}`,
    ageOf(set, now),
    ...templateCells(set),
  ],
};

export const daemonSetColumns: KindColumns = {
  columns: [
    nameColumn,
    numberColumn("Desired", "On how many nodes a pod is wanted."),
    numberColumn("Current", "On how many of these nodes there is a pod."),
    numberColumn("Ready", "On how many of these nodes a pod is ready."),
    numberColumn("Up-to-date", "On how many of these nodes the pod is of the present template."),
    numberColumn("Available", "On how many of these nodes a pod has been ready for long enough."),
    textColumn("Node Selector", "The labels of the nodes it is for."),
    ageColumn,
    ...templateColumns,
    selectorColumn,
  ],
  cells: (set, now) => [
    nameOf(set),
    count(set, "status", "desiredNumberScheduled"),
    count(set, "status", "currentNumberScheduled"),
    count(set, "status", "numberReady"),
    count(set, "status", "updatedNumberScheduled"),
    count(set, "status", "numberAvailable"),
    labelsText(textMapAt(set, "spec", "template", "spec", "nodeSelector")),
    ageOf(set, now),
    ...templateCells(set),
    selectorText(objectAt(set, "spec", "selector")),
  ],
};

export const scaleColumns: KindColumns = {
  columns: [
    { ...nameColumn, format: "" },
    numberColumn("Desired", "How many pods are wanted."),
    numberColumn("Available", "How many pods there are."),
    ageColumn,
  ],
  cells: (scale, now) => [
    nameOf(scale),
    count(scale, "spec", "replicas"),
    count(scale, "status", "replicas"),
    ageOf(scale, now),
  ],
};

function count(object: JsonObject, ...path: readonly string[]): number {
  return numberAt(object, ...path) ?? 0;
}

function templateCells(workload: JsonObject): readonly string[] {
  const containers = objectsAt(workload, "spec", "template", "spec", "containers");
  return [
    containers.map((container) => textAt(container, "name")).join(","),
    containers.map((container) => textAt(container, "image")).join(","),
  ];
}
