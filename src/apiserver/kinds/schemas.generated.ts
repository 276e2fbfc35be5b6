// Made by scripts/generate-schemas.mjs from k8s.io/kubernetes@v1.36.0; do not edit.
// biome-ignore-all format: generated
// biome-ignore-all lint: generated
import type { SchemaTable } from "./schema.ts";

export const schemas: SchemaTable = {
  "apiextensions.v1.CustomResourceColumnDefinition": {
    required: ["name","type","jsonPath"],
    fields: {
      "description": {"type":"string","proto":[4],"omitZero":true},
      "format": {"type":"string","proto":[3],"omitZero":true},
      "jsonPath": {"type":"string","proto":[6],"whenAbsent":"zero"},
      "name": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "priority": {"type":"int32","proto":[5],"omitZero":true},
      "type": {"type":"string","proto":[2],"whenAbsent":"zero"},
    },
  },
  "apiextensions.v1.CustomResourceConversion": {
    required: ["strategy"],
    fields: {
      "strategy": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "webhook": {"type":"ref","to":"apiextensions.v1.WebhookConversion","proto":[2]},
    },
  },
  "apiextensions.v1.CustomResourceDefinition": {
    required: ["spec"],
    fields: {
      "apiVersion": {"type":"string"},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "spec": {"type":"ref","to":"apiextensions.v1.CustomResourceDefinitionSpec","proto":[2],"whenAbsent":"zero"},
      "status": {"type":"ref","to":"apiextensions.v1.CustomResourceDefinitionStatus","proto":[3],"whenAbsent":"zero"},
    },
  },
  "apiextensions.v1.CustomResourceDefinitionCondition": {
    required: ["type","status"],
    fields: {
      "lastTransitionTime": {"type":"time","proto":[3],"whenAbsent":"null"},
      "message": {"type":"string","proto":[5],"omitZero":true},
      "observedGeneration": {"type":"int64","proto":[6],"omitZero":true},
      "reason": {"type":"string","proto":[4],"omitZero":true},
      "status": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "type": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "apiextensions.v1.CustomResourceDefinitionNames": {
    required: ["plural","kind"],
    fields: {
      "categories": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[6],"omitZero":true},
      "kind": {"type":"string","proto":[4],"whenAbsent":"zero"},
      "listKind": {"type":"string","proto":[5],"omitZero":true},
      "plural": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "shortNames": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[3],"omitZero":true},
      "singular": {"type":"string","proto":[2],"omitZero":true},
    },
  },
  "apiextensions.v1.CustomResourceDefinitionSpec": {
    required: ["group","names","scope","versions"],
    fields: {
      "conversion": {"type":"ref","to":"apiextensions.v1.CustomResourceConversion","proto":[9]},
      "group": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "names": {"type":"ref","to":"apiextensions.v1.CustomResourceDefinitionNames","proto":[3],"whenAbsent":"zero"},
      "preserveUnknownFields": {"type":"boolean","proto":[10],"omitZero":true},
      "scope": {"type":"string","proto":[4],"whenAbsent":"zero"},
      "versions": {"type":"array","of":{"type":"ref","to":"apiextensions.v1.CustomResourceDefinitionVersion"},"listType":"atomic","proto":[7],"whenAbsent":"null"},
    },
  },
  "apiextensions.v1.CustomResourceDefinitionStatus": {
    fields: {
      "acceptedNames": {"type":"ref","to":"apiextensions.v1.CustomResourceDefinitionNames","proto":[2],"whenAbsent":"zero"},
      "conditions": {"type":"array","of":{"type":"ref","to":"apiextensions.v1.CustomResourceDefinitionCondition"},"listType":"map","mapKeys":["type"],"proto":[1],"whenAbsent":"null"},
      "observedGeneration": {"type":"int64","proto":[4],"omitZero":true},
      "storedVersions": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[3],"whenAbsent":"null"},
    },
  },
  "apiextensions.v1.CustomResourceDefinitionVersion": {
    required: ["name","served","storage"],
    fields: {
      "additionalPrinterColumns": {"type":"array","of":{"type":"ref","to":"apiextensions.v1.CustomResourceColumnDefinition"},"listType":"atomic","proto":[6],"omitZero":true},
      "deprecated": {"type":"boolean","proto":[7],"omitZero":true},
      "deprecationWarning": {"type":"string","proto":[8]},
      "name": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "schema": {"type":"ref","to":"apiextensions.v1.CustomResourceValidation","proto":[4]},
      "selectableFields": {"type":"array","of":{"type":"ref","to":"apiextensions.v1.SelectableField"},"listType":"atomic","proto":[9],"omitZero":true},
      "served": {"type":"boolean","proto":[2],"whenAbsent":"zero"},
      "storage": {"type":"boolean","proto":[3],"whenAbsent":"zero"},
      "subresources": {"type":"ref","to":"apiextensions.v1.CustomResourceSubresources","proto":[5]},
    },
  },
  "apiextensions.v1.CustomResourceSubresourceScale": {
    required: ["specReplicasPath","statusReplicasPath"],
    fields: {
      "labelSelectorPath": {"type":"string","proto":[3]},
      "specReplicasPath": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "statusReplicasPath": {"type":"string","proto":[2],"whenAbsent":"zero"},
    },
  },
  "apiextensions.v1.CustomResourceSubresources": {
    fields: {
      "scale": {"type":"ref","to":"apiextensions.v1.CustomResourceSubresourceScale","proto":[2]},
      "status": {"type":"json","proto":[1]},
    },
  },
  "apiextensions.v1.CustomResourceValidation": {
    fields: {
      "openAPIV3Schema": {"type":"ref","to":"apiextensions.v1.JSONSchemaProps","proto":[1]},
    },
  },
  "apiextensions.v1.ExternalDocumentation": {
    fields: {
      "description": {"type":"string","proto":[1],"omitZero":true},
      "url": {"type":"string","proto":[2],"omitZero":true},
    },
  },
  "apiextensions.v1.JSONSchemaProps": {
    fields: {
      "$ref": {"type":"string","proto":[3]},
      "$schema": {"type":"string","proto":[2],"omitZero":true},
      "additionalItems": {"type":"json","proto":[33]},
      "additionalProperties": {"type":"json","proto":[30]},
      "allOf": {"type":"array","of":{"type":"ref","to":"apiextensions.v1.JSONSchemaProps"},"listType":"atomic","proto":[25],"omitZero":true},
      "anyOf": {"type":"array","of":{"type":"ref","to":"apiextensions.v1.JSONSchemaProps"},"listType":"atomic","proto":[27],"omitZero":true},
      "default": {"type":"json","proto":[8]},
      "definitions": {"type":"map","of":{"type":"ref","to":"apiextensions.v1.JSONSchemaProps"},"proto":[34],"omitZero":true},
      "dependencies": {"type":"map","of":{"type":"json"},"proto":[32],"omitZero":true},
      "description": {"type":"string","proto":[4],"omitZero":true},
      "enum": {"type":"array","of":{"type":"json"},"listType":"atomic","proto":[20],"omitZero":true},
      "example": {"type":"json","proto":[36]},
      "exclusiveMaximum": {"type":"boolean","proto":[10],"omitZero":true},
      "exclusiveMinimum": {"type":"boolean","proto":[12],"omitZero":true},
      "externalDocs": {"type":"ref","to":"apiextensions.v1.ExternalDocumentation","proto":[35]},
      "format": {"type":"string","proto":[6],"omitZero":true},
      "id": {"type":"string","proto":[1],"omitZero":true},
      "items": {"type":"json","proto":[24]},
      "maxItems": {"type":"int64","proto":[16]},
      "maxLength": {"type":"int64","proto":[13]},
      "maxProperties": {"type":"int64","proto":[21]},
      "maximum": {"type":"number","proto":[9]},
      "minItems": {"type":"int64","proto":[17]},
      "minLength": {"type":"int64","proto":[14]},
      "minProperties": {"type":"int64","proto":[22]},
      "minimum": {"type":"number","proto":[11]},
      "multipleOf": {"type":"number","proto":[19]},
      "not": {"type":"ref","to":"apiextensions.v1.JSONSchemaProps","proto":[28]},
      "nullable": {"type":"boolean","proto":[37],"omitZero":true},
      "oneOf": {"type":"array","of":{"type":"ref","to":"apiextensions.v1.JSONSchemaProps"},"listType":"atomic","proto":[26],"omitZero":true},
      "pattern": {"type":"string","proto":[15],"omitZero":true},
      "patternProperties": {"type":"map","of":{"type":"ref","to":"apiextensions.v1.JSONSchemaProps"},"proto":[31],"omitZero":true},
      "properties": {"type":"map","of":{"type":"ref","to":"apiextensions.v1.JSONSchemaProps"},"proto":[29],"omitZero":true},
      "required": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[23],"omitZero":true},
      "title": {"type":"string","proto":[7],"omitZero":true},
      "type": {"type":"string","proto":[5],"omitZero":true},
      "uniqueItems": {"type":"boolean","proto":[18],"omitZero":true},
      "x-kubernetes-embedded-resource": {"type":"boolean","proto":[39],"omitZero":true},
      "x-kubernetes-int-or-string": {"type":"boolean","proto":[40],"omitZero":true},
      "x-kubernetes-list-map-keys": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[41],"omitZero":true},
      "x-kubernetes-list-type": {"type":"string","proto":[42]},
      "x-kubernetes-map-type": {"type":"string","proto":[43]},
      "x-kubernetes-preserve-unknown-fields": {"type":"boolean","proto":[38]},
      "x-kubernetes-validations": {"type":"array","of":{"type":"ref","to":"apiextensions.v1.ValidationRule"},"listType":"map","mapKeys":["rule"],"mergeKey":"rule","patchStrategy":["merge"],"proto":[44],"omitZero":true},
    },
  },
  "apiextensions.v1.SelectableField": {
    required: ["jsonPath"],
    fields: {
      "jsonPath": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "apiextensions.v1.ServiceReference": {
    required: ["namespace","name"],
    fields: {
      "name": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "namespace": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "path": {"type":"string","proto":[3]},
      "port": {"type":"int32","proto":[4]},
    },
  },
  "apiextensions.v1.ValidationRule": {
    required: ["rule"],
    fields: {
      "fieldPath": {"type":"string","proto":[5],"omitZero":true},
      "message": {"type":"string","proto":[2],"omitZero":true},
      "messageExpression": {"type":"string","proto":[3],"omitZero":true},
      "optionalOldSelf": {"type":"boolean","proto":[6]},
      "reason": {"type":"string","proto":[4]},
      "rule": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "apiextensions.v1.WebhookClientConfig": {
    fields: {
      "caBundle": {"type":"bytes","proto":[2],"omitZero":true},
      "service": {"type":"ref","to":"apiextensions.v1.ServiceReference","proto":[1]},
      "url": {"type":"string","proto":[3]},
    },
  },
  "apiextensions.v1.WebhookConversion": {
    required: ["conversionReviewVersions"],
    fields: {
      "clientConfig": {"type":"ref","to":"apiextensions.v1.WebhookClientConfig","proto":[2]},
      "conversionReviewVersions": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[3],"whenAbsent":"null"},
    },
  },
  "apps.v1.DaemonSet": {
    fields: {
      "apiVersion": {"type":"string"},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "spec": {"type":"ref","to":"apps.v1.DaemonSetSpec","proto":[2],"whenAbsent":"zero"},
      "status": {"type":"ref","to":"apps.v1.DaemonSetStatus","proto":[3],"whenAbsent":"zero"},
    },
  },
  "apps.v1.DaemonSetCondition": {
    required: ["type","status"],
    fields: {
      "lastTransitionTime": {"type":"time","proto":[3],"whenAbsent":"null"},
      "message": {"type":"string","proto":[5],"omitZero":true},
      "reason": {"type":"string","proto":[4],"omitZero":true},
      "status": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "type": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "apps.v1.DaemonSetSpec": {
    required: ["selector","template"],
    fields: {
      "minReadySeconds": {"type":"int32","proto":[4],"omitZero":true},
      "revisionHistoryLimit": {"type":"int32","proto":[6]},
      "selector": {"type":"ref","to":"meta.v1.LabelSelector","proto":[1],"whenAbsent":"null"},
      "template": {"type":"ref","to":"core.v1.PodTemplateSpec","proto":[2],"whenAbsent":"zero"},
      "updateStrategy": {"type":"ref","to":"apps.v1.DaemonSetUpdateStrategy","proto":[3],"whenAbsent":"zero"},
    },
  },
  "apps.v1.DaemonSetStatus": {
    required: ["currentNumberScheduled","numberMisscheduled","desiredNumberScheduled","numberReady"],
    fields: {
      "collisionCount": {"type":"int32","proto":[9]},
      "conditions": {"type":"array","of":{"type":"ref","to":"apps.v1.DaemonSetCondition"},"listType":"map","mapKeys":["type"],"mergeKey":"type","patchStrategy":["merge"],"proto":[10],"omitZero":true},
      "currentNumberScheduled": {"type":"int32","proto":[1],"whenAbsent":"zero"},
      "desiredNumberScheduled": {"type":"int32","proto":[3],"whenAbsent":"zero"},
      "numberAvailable": {"type":"int32","proto":[7],"omitZero":true},
      "numberMisscheduled": {"type":"int32","proto":[2],"whenAbsent":"zero"},
      "numberReady": {"type":"int32","proto":[4],"whenAbsent":"zero"},
      "numberUnavailable": {"type":"int32","proto":[8],"omitZero":true},
      "observedGeneration": {"type":"int64","proto":[5],"omitZero":true},
      "updatedNumberScheduled": {"type":"int32","proto":[6],"omitZero":true},
    },
  },
  "apps.v1.DaemonSetUpdateStrategy": {
    fields: {
      "rollingUpdate": {"type":"ref","to":"apps.v1.RollingUpdateDaemonSet","proto":[2]},
      "type": {"type":"string","proto":[1],"omitZero":true},
    },
  },
  "apps.v1.Deployment": {
    fields: {
      "apiVersion": {"type":"string"},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "spec": {"type":"ref","to":"apps.v1.DeploymentSpec","proto":[2],"whenAbsent":"zero"},
      "status": {"type":"ref","to":"apps.v1.DeploymentStatus","proto":[3],"whenAbsent":"zero"},
    },
  },
  "apps.v1.DeploymentCondition": {
    required: ["type","status"],
    fields: {
      "lastTransitionTime": {"type":"time","proto":[7],"whenAbsent":"null"},
      "lastUpdateTime": {"type":"time","proto":[6],"whenAbsent":"null"},
      "message": {"type":"string","proto":[5],"omitZero":true},
      "reason": {"type":"string","proto":[4],"omitZero":true},
      "status": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "type": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "apps.v1.DeploymentSpec": {
    required: ["selector","template"],
    fields: {
      "minReadySeconds": {"type":"int32","proto":[5],"omitZero":true},
      "paused": {"type":"boolean","proto":[7],"omitZero":true},
      "progressDeadlineSeconds": {"type":"int32","proto":[9]},
      "replicas": {"type":"int32","proto":[1]},
      "revisionHistoryLimit": {"type":"int32","proto":[6]},
      "selector": {"type":"ref","to":"meta.v1.LabelSelector","proto":[2],"whenAbsent":"null"},
      "strategy": {"type":"ref","to":"apps.v1.DeploymentStrategy","patchStrategy":["retainKeys"],"proto":[4],"whenAbsent":"zero"},
      "template": {"type":"ref","to":"core.v1.PodTemplateSpec","proto":[3],"whenAbsent":"zero"},
    },
  },
  "apps.v1.DeploymentStatus": {
    fields: {
      "availableReplicas": {"type":"int32","proto":[4],"omitZero":true},
      "collisionCount": {"type":"int32","proto":[8]},
      "conditions": {"type":"array","of":{"type":"ref","to":"apps.v1.DeploymentCondition"},"listType":"map","mapKeys":["type"],"mergeKey":"type","patchStrategy":["merge"],"proto":[6],"omitZero":true},
      "observedGeneration": {"type":"int64","proto":[1],"omitZero":true},
      "readyReplicas": {"type":"int32","proto":[7],"omitZero":true},
      "replicas": {"type":"int32","proto":[2],"omitZero":true},
      "terminatingReplicas": {"type":"int32","proto":[9]},
      "unavailableReplicas": {"type":"int32","proto":[5],"omitZero":true},
      "updatedReplicas": {"type":"int32","proto":[3],"omitZero":true},
    },
  },
  "apps.v1.DeploymentStrategy": {
    fields: {
      "rollingUpdate": {"type":"ref","to":"apps.v1.RollingUpdateDeployment","proto":[2]},
      "type": {"type":"string","proto":[1],"omitZero":true},
    },
  },
  "apps.v1.ReplicaSet": {
    fields: {
      "apiVersion": {"type":"string"},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "spec": {"type":"ref","to":"apps.v1.ReplicaSetSpec","proto":[2],"whenAbsent":"zero"},
      "status": {"type":"ref","to":"apps.v1.ReplicaSetStatus","proto":[3],"whenAbsent":"zero"},
    },
  },
  "apps.v1.ReplicaSetCondition": {
    required: ["type","status"],
    fields: {
      "lastTransitionTime": {"type":"time","proto":[3],"whenAbsent":"null"},
      "message": {"type":"string","proto":[5],"omitZero":true},
      "reason": {"type":"string","proto":[4],"omitZero":true},
      "status": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "type": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "apps.v1.ReplicaSetSpec": {
    required: ["selector"],
    fields: {
      "minReadySeconds": {"type":"int32","proto":[4],"omitZero":true},
      "replicas": {"type":"int32","proto":[1]},
      "selector": {"type":"ref","to":"meta.v1.LabelSelector","proto":[2],"whenAbsent":"null"},
      "template": {"type":"ref","to":"core.v1.PodTemplateSpec","proto":[3],"whenAbsent":"zero"},
    },
  },
  "apps.v1.ReplicaSetStatus": {
    required: ["replicas"],
    fields: {
      "availableReplicas": {"type":"int32","proto":[5],"omitZero":true},
      "conditions": {"type":"array","of":{"type":"ref","to":"apps.v1.ReplicaSetCondition"},"listType":"map","mapKeys":["type"],"mergeKey":"type","patchStrategy":["merge"],"proto":[6],"omitZero":true},
      "fullyLabeledReplicas": {"type":"int32","proto":[2],"omitZero":true},
      "observedGeneration": {"type":"int64","proto":[3],"omitZero":true},
      "readyReplicas": {"type":"int32","proto":[4],"omitZero":true},
      "replicas": {"type":"int32","proto":[1],"whenAbsent":"zero"},
      "terminatingReplicas": {"type":"int32","proto":[7]},
    },
  },
  "apps.v1.RollingUpdateDaemonSet": {
    fields: {
      "maxSurge": {"type":"intOrString","proto":[2]},
      "maxUnavailable": {"type":"intOrString","proto":[1]},
    },
  },
  "apps.v1.RollingUpdateDeployment": {
    fields: {
      "maxSurge": {"type":"intOrString","proto":[2]},
      "maxUnavailable": {"type":"intOrString","proto":[1]},
    },
  },
  "authentication.v1.BoundObjectReference": {
    fields: {
      "apiVersion": {"type":"string","proto":[2],"omitZero":true},
      "kind": {"type":"string","proto":[1],"omitZero":true},
      "name": {"type":"string","proto":[3],"omitZero":true},
      "uid": {"type":"string","proto":[4],"omitZero":true},
    },
  },
  "authentication.v1.SelfSubjectReview": {
    fields: {
      "apiVersion": {"type":"string"},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "status": {"type":"ref","to":"authentication.v1.SelfSubjectReviewStatus","proto":[2],"whenAbsent":"zero"},
    },
  },
  "authentication.v1.SelfSubjectReviewStatus": {
    fields: {
      "userInfo": {"type":"ref","to":"authentication.v1.UserInfo","proto":[1],"whenAbsent":"zero"},
    },
  },
  "authentication.v1.TokenRequest": {
    fields: {
      "apiVersion": {"type":"string"},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "spec": {"type":"ref","to":"authentication.v1.TokenRequestSpec","proto":[2],"whenAbsent":"zero"},
      "status": {"type":"ref","to":"authentication.v1.TokenRequestStatus","proto":[3],"whenAbsent":"zero"},
    },
  },
  "authentication.v1.TokenRequestSpec": {
    fields: {
      "audiences": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[1],"whenAbsent":"null"},
      "boundObjectRef": {"type":"ref","to":"authentication.v1.BoundObjectReference","proto":[3],"whenAbsent":"null"},
      "expirationSeconds": {"type":"int64","proto":[4],"whenAbsent":"null"},
    },
  },
  "authentication.v1.TokenRequestStatus": {
    fields: {
      "expirationTimestamp": {"type":"time","proto":[2],"whenAbsent":"null"},
      "token": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "authentication.v1.TokenReview": {
    required: ["spec"],
    fields: {
      "apiVersion": {"type":"string"},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "spec": {"type":"ref","to":"authentication.v1.TokenReviewSpec","proto":[2],"whenAbsent":"zero"},
      "status": {"type":"ref","to":"authentication.v1.TokenReviewStatus","proto":[3],"whenAbsent":"zero"},
    },
  },
  "authentication.v1.TokenReviewSpec": {
    required: ["token"],
    fields: {
      "audiences": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[2],"omitZero":true},
      "token": {"type":"string","proto":[1],"omitZero":true},
    },
  },
  "authentication.v1.TokenReviewStatus": {
    fields: {
      "audiences": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[4],"omitZero":true},
      "authenticated": {"type":"boolean","proto":[1],"omitZero":true},
      "error": {"type":"string","proto":[3],"omitZero":true},
      "user": {"type":"ref","to":"authentication.v1.UserInfo","proto":[2],"whenAbsent":"zero"},
    },
  },
  "authentication.v1.UserInfo": {
    fields: {
      "extra": {"type":"map","of":{"type":"array","of":{"type":"string"}},"proto":[4],"omitZero":true},
      "groups": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[3],"omitZero":true},
      "uid": {"type":"string","proto":[2],"omitZero":true},
      "username": {"type":"string","proto":[1],"omitZero":true},
    },
  },
  "authorization.v1.FieldSelectorAttributes": {
    fields: {
      "rawSelector": {"type":"string","proto":[1],"omitZero":true},
      "requirements": {"type":"array","of":{"type":"ref","to":"meta.v1.FieldSelectorRequirement"},"listType":"atomic","proto":[2],"omitZero":true},
    },
  },
  "authorization.v1.LabelSelectorAttributes": {
    fields: {
      "rawSelector": {"type":"string","proto":[1],"omitZero":true},
      "requirements": {"type":"array","of":{"type":"ref","to":"meta.v1.LabelSelectorRequirement"},"listType":"atomic","proto":[2],"omitZero":true},
    },
  },
  "authorization.v1.LocalSubjectAccessReview": {
    required: ["spec"],
    fields: {
      "apiVersion": {"type":"string"},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "spec": {"type":"ref","to":"authorization.v1.SubjectAccessReviewSpec","proto":[2],"whenAbsent":"zero"},
      "status": {"type":"ref","to":"authorization.v1.SubjectAccessReviewStatus","proto":[3],"whenAbsent":"zero"},
    },
  },
  "authorization.v1.NonResourceAttributes": {
    fields: {
      "path": {"type":"string","proto":[1],"omitZero":true},
      "verb": {"type":"string","proto":[2],"omitZero":true},
    },
  },
  "authorization.v1.NonResourceRule": {
    required: ["verbs"],
    fields: {
      "nonResourceURLs": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[2],"omitZero":true},
      "verbs": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[1],"whenAbsent":"null"},
    },
  },
  "authorization.v1.ResourceAttributes": {
    fields: {
      "fieldSelector": {"type":"ref","to":"authorization.v1.FieldSelectorAttributes","proto":[8]},
      "group": {"type":"string","proto":[3],"omitZero":true},
      "labelSelector": {"type":"ref","to":"authorization.v1.LabelSelectorAttributes","proto":[9]},
      "name": {"type":"string","proto":[7],"omitZero":true},
      "namespace": {"type":"string","proto":[1],"omitZero":true},
      "resource": {"type":"string","proto":[5],"omitZero":true},
      "subresource": {"type":"string","proto":[6],"omitZero":true},
      "verb": {"type":"string","proto":[2],"omitZero":true},
      "version": {"type":"string","proto":[4],"omitZero":true},
    },
  },
  "authorization.v1.ResourceRule": {
    required: ["verbs"],
    fields: {
      "apiGroups": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[2],"omitZero":true},
      "resourceNames": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[4],"omitZero":true},
      "resources": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[3],"omitZero":true},
      "verbs": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[1],"whenAbsent":"null"},
    },
  },
  "authorization.v1.SelfSubjectAccessReview": {
    required: ["spec"],
    fields: {
      "apiVersion": {"type":"string"},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "spec": {"type":"ref","to":"authorization.v1.SelfSubjectAccessReviewSpec","proto":[2],"whenAbsent":"zero"},
      "status": {"type":"ref","to":"authorization.v1.SubjectAccessReviewStatus","proto":[3],"whenAbsent":"zero"},
    },
  },
  "authorization.v1.SelfSubjectAccessReviewSpec": {
    fields: {
      "nonResourceAttributes": {"type":"ref","to":"authorization.v1.NonResourceAttributes","proto":[2]},
      "resourceAttributes": {"type":"ref","to":"authorization.v1.ResourceAttributes","proto":[1]},
    },
  },
  "authorization.v1.SelfSubjectRulesReview": {
    required: ["spec"],
    fields: {
      "apiVersion": {"type":"string"},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "spec": {"type":"ref","to":"authorization.v1.SelfSubjectRulesReviewSpec","proto":[2],"whenAbsent":"zero"},
      "status": {"type":"ref","to":"authorization.v1.SubjectRulesReviewStatus","proto":[3],"whenAbsent":"zero"},
    },
  },
  "authorization.v1.SelfSubjectRulesReviewSpec": {
    fields: {
      "namespace": {"type":"string","proto":[1],"omitZero":true},
    },
  },
  "authorization.v1.SubjectAccessReview": {
    required: ["spec"],
    fields: {
      "apiVersion": {"type":"string"},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "spec": {"type":"ref","to":"authorization.v1.SubjectAccessReviewSpec","proto":[2],"whenAbsent":"zero"},
      "status": {"type":"ref","to":"authorization.v1.SubjectAccessReviewStatus","proto":[3],"whenAbsent":"zero"},
    },
  },
  "authorization.v1.SubjectAccessReviewSpec": {
    fields: {
      "extra": {"type":"map","of":{"type":"array","of":{"type":"string"}},"proto":[5],"omitZero":true},
      "groups": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[4],"omitZero":true},
      "nonResourceAttributes": {"type":"ref","to":"authorization.v1.NonResourceAttributes","proto":[2]},
      "resourceAttributes": {"type":"ref","to":"authorization.v1.ResourceAttributes","proto":[1]},
      "uid": {"type":"string","proto":[6],"omitZero":true},
      "user": {"type":"string","proto":[3],"omitZero":true},
    },
  },
  "authorization.v1.SubjectAccessReviewStatus": {
    required: ["allowed"],
    fields: {
      "allowed": {"type":"boolean","proto":[1],"whenAbsent":"zero"},
      "denied": {"type":"boolean","proto":[4],"omitZero":true},
      "evaluationError": {"type":"string","proto":[3],"omitZero":true},
      "reason": {"type":"string","proto":[2],"omitZero":true},
    },
  },
  "authorization.v1.SubjectRulesReviewStatus": {
    required: ["resourceRules","nonResourceRules","incomplete"],
    fields: {
      "evaluationError": {"type":"string","proto":[4],"omitZero":true},
      "incomplete": {"type":"boolean","proto":[3],"whenAbsent":"zero"},
      "nonResourceRules": {"type":"array","of":{"type":"ref","to":"authorization.v1.NonResourceRule"},"listType":"atomic","proto":[2],"whenAbsent":"null"},
      "resourceRules": {"type":"array","of":{"type":"ref","to":"authorization.v1.ResourceRule"},"listType":"atomic","proto":[1],"whenAbsent":"null"},
    },
  },
  "autoscaling.v1.Scale": {
    fields: {
      "apiVersion": {"type":"string"},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "spec": {"type":"ref","to":"autoscaling.v1.ScaleSpec","proto":[2],"whenAbsent":"zero"},
      "status": {"type":"ref","to":"autoscaling.v1.ScaleStatus","proto":[3],"whenAbsent":"zero"},
    },
  },
  "autoscaling.v1.ScaleSpec": {
    fields: {
      "replicas": {"type":"int32","proto":[1],"omitZero":true},
    },
  },
  "autoscaling.v1.ScaleStatus": {
    required: ["replicas"],
    fields: {
      "replicas": {"type":"int32","proto":[1],"whenAbsent":"zero"},
      "selector": {"type":"string","proto":[2],"omitZero":true},
    },
  },
  "coordination.v1.Lease": {
    fields: {
      "apiVersion": {"type":"string"},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "spec": {"type":"ref","to":"coordination.v1.LeaseSpec","proto":[2],"whenAbsent":"zero"},
    },
  },
  "coordination.v1.LeaseSpec": {
    fields: {
      "acquireTime": {"type":"microTime","proto":[3]},
      "holderIdentity": {"type":"string","proto":[1]},
      "leaseDurationSeconds": {"type":"int32","proto":[2]},
      "leaseTransitions": {"type":"int32","proto":[5]},
      "preferredHolder": {"type":"string","proto":[7]},
      "renewTime": {"type":"microTime","proto":[4]},
      "strategy": {"type":"string","proto":[6]},
    },
  },
  "core.v1.AWSElasticBlockStoreVolumeSource": {
    required: ["volumeID"],
    fields: {
      "fsType": {"type":"string","proto":[2],"omitZero":true},
      "partition": {"type":"int32","proto":[3],"omitZero":true},
      "readOnly": {"type":"boolean","proto":[4],"omitZero":true},
      "volumeID": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.Affinity": {
    fields: {
      "nodeAffinity": {"type":"ref","to":"core.v1.NodeAffinity","proto":[1]},
      "podAffinity": {"type":"ref","to":"core.v1.PodAffinity","proto":[2]},
      "podAntiAffinity": {"type":"ref","to":"core.v1.PodAntiAffinity","proto":[3]},
    },
  },
  "core.v1.AppArmorProfile": {
    required: ["type"],
    fields: {
      "localhostProfile": {"type":"string","proto":[2]},
      "type": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.AttachedVolume": {
    required: ["name","devicePath"],
    fields: {
      "devicePath": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "name": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.AzureDiskVolumeSource": {
    required: ["diskName","diskURI"],
    fields: {
      "cachingMode": {"type":"string","default":"ReadWrite","proto":[3]},
      "diskName": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "diskURI": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "fsType": {"type":"string","default":"ext4","proto":[4]},
      "kind": {"type":"string","default":"Shared","proto":[6]},
      "readOnly": {"type":"boolean","proto":[5]},
    },
  },
  "core.v1.AzureFileVolumeSource": {
    required: ["secretName","shareName"],
    fields: {
      "readOnly": {"type":"boolean","proto":[3],"omitZero":true},
      "secretName": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "shareName": {"type":"string","proto":[2],"whenAbsent":"zero"},
    },
  },
  "core.v1.Binding": {
    required: ["target"],
    fields: {
      "apiVersion": {"type":"string"},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "target": {"type":"ref","to":"core.v1.ObjectReference","proto":[2],"whenAbsent":"zero"},
    },
  },
  "core.v1.CSIVolumeSource": {
    required: ["driver"],
    fields: {
      "driver": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "fsType": {"type":"string","proto":[3]},
      "nodePublishSecretRef": {"type":"ref","to":"core.v1.LocalObjectReference","proto":[5]},
      "readOnly": {"type":"boolean","proto":[2]},
      "volumeAttributes": {"type":"map","of":{"type":"string"},"proto":[4],"omitZero":true},
    },
  },
  "core.v1.Capabilities": {
    fields: {
      "add": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[1],"omitZero":true},
      "drop": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[2],"omitZero":true},
    },
  },
  "core.v1.CephFSVolumeSource": {
    required: ["monitors"],
    fields: {
      "monitors": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[1],"whenAbsent":"null"},
      "path": {"type":"string","proto":[2],"omitZero":true},
      "readOnly": {"type":"boolean","proto":[6],"omitZero":true},
      "secretFile": {"type":"string","proto":[4],"omitZero":true},
      "secretRef": {"type":"ref","to":"core.v1.LocalObjectReference","proto":[5]},
      "user": {"type":"string","proto":[3],"omitZero":true},
    },
  },
  "core.v1.CinderVolumeSource": {
    required: ["volumeID"],
    fields: {
      "fsType": {"type":"string","proto":[2],"omitZero":true},
      "readOnly": {"type":"boolean","proto":[3],"omitZero":true},
      "secretRef": {"type":"ref","to":"core.v1.LocalObjectReference","proto":[4]},
      "volumeID": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.ClientIPConfig": {
    fields: {
      "timeoutSeconds": {"type":"int32","proto":[1]},
    },
  },
  "core.v1.ClusterTrustBundleProjection": {
    required: ["path"],
    fields: {
      "labelSelector": {"type":"ref","to":"meta.v1.LabelSelector","proto":[3]},
      "name": {"type":"string","proto":[1]},
      "optional": {"type":"boolean","proto":[5]},
      "path": {"type":"string","proto":[4],"whenAbsent":"zero"},
      "signerName": {"type":"string","proto":[2]},
    },
  },
  "core.v1.ConfigMap": {
    fields: {
      "apiVersion": {"type":"string"},
      "binaryData": {"type":"map","of":{"type":"bytes"},"proto":[3],"omitZero":true},
      "data": {"type":"map","of":{"type":"string"},"proto":[2],"omitZero":true},
      "immutable": {"type":"boolean","proto":[4]},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.ConfigMapEnvSource": {
    fields: {
      "name": {"type":"string","proto":[1,1],"omitZero":true},
      "optional": {"type":"boolean","proto":[2]},
    },
  },
  "core.v1.ConfigMapKeySelector": {
    required: ["key"],
    atomic: true,
    fields: {
      "key": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "name": {"type":"string","proto":[1,1],"omitZero":true},
      "optional": {"type":"boolean","proto":[3]},
    },
  },
  "core.v1.ConfigMapNodeConfigSource": {
    required: ["namespace","name","kubeletConfigKey"],
    fields: {
      "kubeletConfigKey": {"type":"string","proto":[5],"whenAbsent":"zero"},
      "name": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "namespace": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "resourceVersion": {"type":"string","proto":[4],"omitZero":true},
      "uid": {"type":"string","proto":[3],"omitZero":true},
    },
  },
  "core.v1.ConfigMapProjection": {
    fields: {
      "items": {"type":"array","of":{"type":"ref","to":"core.v1.KeyToPath"},"listType":"atomic","proto":[2],"omitZero":true},
      "name": {"type":"string","proto":[1,1],"omitZero":true},
      "optional": {"type":"boolean","proto":[4]},
    },
  },
  "core.v1.ConfigMapVolumeSource": {
    fields: {
      "defaultMode": {"type":"int32","proto":[3]},
      "items": {"type":"array","of":{"type":"ref","to":"core.v1.KeyToPath"},"listType":"atomic","proto":[2],"omitZero":true},
      "name": {"type":"string","proto":[1,1],"omitZero":true},
      "optional": {"type":"boolean","proto":[4]},
    },
  },
  "core.v1.Container": {
    required: ["name"],
    fields: {
      "args": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[4],"omitZero":true},
      "command": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[3],"omitZero":true},
      "env": {"type":"array","of":{"type":"ref","to":"core.v1.EnvVar"},"listType":"map","mapKeys":["name"],"mergeKey":"name","patchStrategy":["merge"],"proto":[7],"omitZero":true},
      "envFrom": {"type":"array","of":{"type":"ref","to":"core.v1.EnvFromSource"},"listType":"atomic","proto":[19],"omitZero":true},
      "image": {"type":"string","proto":[2],"omitZero":true},
      "imagePullPolicy": {"type":"string","proto":[14],"omitZero":true},
      "lifecycle": {"type":"ref","to":"core.v1.Lifecycle","proto":[12]},
      "livenessProbe": {"type":"ref","to":"core.v1.Probe","proto":[10]},
      "name": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "ports": {"type":"array","of":{"type":"ref","to":"core.v1.ContainerPort"},"listType":"map","mapKeys":["containerPort","protocol"],"mergeKey":"containerPort","patchStrategy":["merge"],"proto":[6],"omitZero":true},
      "readinessProbe": {"type":"ref","to":"core.v1.Probe","proto":[11]},
      "resizePolicy": {"type":"array","of":{"type":"ref","to":"core.v1.ContainerResizePolicy"},"listType":"atomic","proto":[23],"omitZero":true},
      "resources": {"type":"ref","to":"core.v1.ResourceRequirements","proto":[8],"whenAbsent":"zero"},
      "restartPolicy": {"type":"string","proto":[24]},
      "restartPolicyRules": {"type":"array","of":{"type":"ref","to":"core.v1.ContainerRestartRule"},"listType":"atomic","proto":[25],"omitZero":true},
      "securityContext": {"type":"ref","to":"core.v1.SecurityContext","proto":[15]},
      "startupProbe": {"type":"ref","to":"core.v1.Probe","proto":[22]},
      "stdin": {"type":"boolean","proto":[16],"omitZero":true},
      "stdinOnce": {"type":"boolean","proto":[17],"omitZero":true},
      "terminationMessagePath": {"type":"string","proto":[13],"omitZero":true},
      "terminationMessagePolicy": {"type":"string","proto":[20],"omitZero":true},
      "tty": {"type":"boolean","proto":[18],"omitZero":true},
      "volumeDevices": {"type":"array","of":{"type":"ref","to":"core.v1.VolumeDevice"},"listType":"map","mapKeys":["devicePath"],"mergeKey":"devicePath","patchStrategy":["merge"],"proto":[21],"omitZero":true},
      "volumeMounts": {"type":"array","of":{"type":"ref","to":"core.v1.VolumeMount"},"listType":"map","mapKeys":["mountPath"],"mergeKey":"mountPath","patchStrategy":["merge"],"proto":[9],"omitZero":true},
      "workingDir": {"type":"string","proto":[5],"omitZero":true},
    },
  },
  "core.v1.ContainerExtendedResourceRequest": {
    required: ["containerName","resourceName","requestName"],
    fields: {
      "containerName": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "requestName": {"type":"string","proto":[3],"whenAbsent":"zero"},
      "resourceName": {"type":"string","proto":[2],"whenAbsent":"zero"},
    },
  },
  "core.v1.ContainerImage": {
    fields: {
      "names": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[1],"whenAbsent":"null"},
      "sizeBytes": {"type":"int64","proto":[2],"omitZero":true},
    },
  },
  "core.v1.ContainerPort": {
    required: ["containerPort"],
    fields: {
      "containerPort": {"type":"int32","proto":[3],"whenAbsent":"zero"},
      "hostIP": {"type":"string","proto":[5],"omitZero":true},
      "hostPort": {"type":"int32","proto":[2],"omitZero":true},
      "name": {"type":"string","proto":[1],"omitZero":true},
      "protocol": {"type":"string","default":"TCP","proto":[4],"omitZero":true},
    },
  },
  "core.v1.ContainerResizePolicy": {
    required: ["resourceName","restartPolicy"],
    fields: {
      "resourceName": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "restartPolicy": {"type":"string","proto":[2],"whenAbsent":"zero"},
    },
  },
  "core.v1.ContainerRestartRule": {
    required: ["action"],
    fields: {
      "action": {"type":"string","proto":[1],"omitZero":true},
      "exitCodes": {"type":"ref","to":"core.v1.ContainerRestartRuleOnExitCodes","proto":[2]},
    },
  },
  "core.v1.ContainerRestartRuleOnExitCodes": {
    required: ["operator"],
    fields: {
      "operator": {"type":"string","proto":[1],"omitZero":true},
      "values": {"type":"array","of":{"type":"int32"},"listType":"set","proto":[2],"omitZero":true},
    },
  },
  "core.v1.ContainerState": {
    fields: {
      "running": {"type":"ref","to":"core.v1.ContainerStateRunning","proto":[2]},
      "terminated": {"type":"ref","to":"core.v1.ContainerStateTerminated","proto":[3]},
      "waiting": {"type":"ref","to":"core.v1.ContainerStateWaiting","proto":[1]},
    },
  },
  "core.v1.ContainerStateRunning": {
    fields: {
      "startedAt": {"type":"time","proto":[1],"whenAbsent":"null"},
    },
  },
  "core.v1.ContainerStateTerminated": {
    required: ["exitCode"],
    fields: {
      "containerID": {"type":"string","proto":[7],"omitZero":true},
      "exitCode": {"type":"int32","proto":[1],"whenAbsent":"zero"},
      "finishedAt": {"type":"time","proto":[6],"whenAbsent":"null"},
      "message": {"type":"string","proto":[4],"omitZero":true},
      "reason": {"type":"string","proto":[3],"omitZero":true},
      "signal": {"type":"int32","proto":[2],"omitZero":true},
      "startedAt": {"type":"time","proto":[5],"whenAbsent":"null"},
    },
  },
  "core.v1.ContainerStateWaiting": {
    fields: {
      "message": {"type":"string","proto":[2],"omitZero":true},
      "reason": {"type":"string","proto":[1],"omitZero":true},
    },
  },
  "core.v1.ContainerStatus": {
    required: ["name","ready","restartCount","image","imageID"],
    fields: {
      "allocatedResources": {"type":"map","of":{"type":"quantity"},"proto":[10],"omitZero":true},
      "allocatedResourcesStatus": {"type":"array","of":{"type":"ref","to":"core.v1.ResourceStatus"},"listType":"map","mapKeys":["name"],"mergeKey":"name","patchStrategy":["merge"],"proto":[14],"omitZero":true},
      "containerID": {"type":"string","proto":[8],"omitZero":true},
      "image": {"type":"string","proto":[6],"whenAbsent":"zero"},
      "imageID": {"type":"string","proto":[7],"whenAbsent":"zero"},
      "lastState": {"type":"ref","to":"core.v1.ContainerState","proto":[3],"whenAbsent":"zero"},
      "name": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "ready": {"type":"boolean","proto":[4],"whenAbsent":"zero"},
      "resources": {"type":"ref","to":"core.v1.ResourceRequirements","proto":[11]},
      "restartCount": {"type":"int32","proto":[5],"whenAbsent":"zero"},
      "started": {"type":"boolean","proto":[9]},
      "state": {"type":"ref","to":"core.v1.ContainerState","proto":[2],"whenAbsent":"zero"},
      "stopSignal": {"type":"string","proto":[15]},
      "user": {"type":"ref","to":"core.v1.ContainerUser","proto":[13]},
      "volumeMounts": {"type":"array","of":{"type":"ref","to":"core.v1.VolumeMountStatus"},"listType":"map","mapKeys":["mountPath"],"mergeKey":"mountPath","patchStrategy":["merge"],"proto":[12],"omitZero":true},
    },
  },
  "core.v1.ContainerUser": {
    fields: {
      "linux": {"type":"ref","to":"core.v1.LinuxContainerUser","proto":[1]},
    },
  },
  "core.v1.DaemonEndpoint": {
    required: ["Port"],
    fields: {
      "Port": {"type":"int32","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.DownwardAPIProjection": {
    fields: {
      "items": {"type":"array","of":{"type":"ref","to":"core.v1.DownwardAPIVolumeFile"},"listType":"atomic","proto":[1],"omitZero":true},
    },
  },
  "core.v1.DownwardAPIVolumeFile": {
    required: ["path"],
    fields: {
      "fieldRef": {"type":"ref","to":"core.v1.ObjectFieldSelector","proto":[2]},
      "mode": {"type":"int32","proto":[4]},
      "path": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "resourceFieldRef": {"type":"ref","to":"core.v1.ResourceFieldSelector","proto":[3]},
    },
  },
  "core.v1.DownwardAPIVolumeSource": {
    fields: {
      "defaultMode": {"type":"int32","proto":[2]},
      "items": {"type":"array","of":{"type":"ref","to":"core.v1.DownwardAPIVolumeFile"},"listType":"atomic","proto":[1],"omitZero":true},
    },
  },
  "core.v1.EmptyDirVolumeSource": {
    fields: {
      "medium": {"type":"string","proto":[1],"omitZero":true},
      "sizeLimit": {"type":"quantity","proto":[2]},
    },
  },
  "core.v1.EndpointAddress": {
    required: ["ip"],
    atomic: true,
    fields: {
      "hostname": {"type":"string","proto":[3],"omitZero":true},
      "ip": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "nodeName": {"type":"string","proto":[4]},
      "targetRef": {"type":"ref","to":"core.v1.ObjectReference","proto":[2]},
    },
  },
  "core.v1.EndpointPort": {
    required: ["port"],
    atomic: true,
    fields: {
      "appProtocol": {"type":"string","proto":[4]},
      "name": {"type":"string","proto":[1],"omitZero":true},
      "port": {"type":"int32","proto":[2],"whenAbsent":"zero"},
      "protocol": {"type":"string","proto":[3],"omitZero":true},
    },
  },
  "core.v1.EndpointSubset": {
    fields: {
      "addresses": {"type":"array","of":{"type":"ref","to":"core.v1.EndpointAddress"},"listType":"atomic","proto":[1],"omitZero":true},
      "notReadyAddresses": {"type":"array","of":{"type":"ref","to":"core.v1.EndpointAddress"},"listType":"atomic","proto":[2],"omitZero":true},
      "ports": {"type":"array","of":{"type":"ref","to":"core.v1.EndpointPort"},"listType":"atomic","proto":[3],"omitZero":true},
    },
  },
  "core.v1.Endpoints": {
    fields: {
      "apiVersion": {"type":"string"},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "subsets": {"type":"array","of":{"type":"ref","to":"core.v1.EndpointSubset"},"listType":"atomic","proto":[2],"omitZero":true},
    },
  },
  "core.v1.EnvFromSource": {
    fields: {
      "configMapRef": {"type":"ref","to":"core.v1.ConfigMapEnvSource","proto":[2]},
      "prefix": {"type":"string","proto":[1],"omitZero":true},
      "secretRef": {"type":"ref","to":"core.v1.SecretEnvSource","proto":[3]},
    },
  },
  "core.v1.EnvVar": {
    required: ["name"],
    fields: {
      "name": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "value": {"type":"string","proto":[2],"omitZero":true},
      "valueFrom": {"type":"ref","to":"core.v1.EnvVarSource","proto":[3]},
    },
  },
  "core.v1.EnvVarSource": {
    fields: {
      "configMapKeyRef": {"type":"ref","to":"core.v1.ConfigMapKeySelector","proto":[3]},
      "fieldRef": {"type":"ref","to":"core.v1.ObjectFieldSelector","proto":[1]},
      "fileKeyRef": {"type":"ref","to":"core.v1.FileKeySelector","proto":[5]},
      "resourceFieldRef": {"type":"ref","to":"core.v1.ResourceFieldSelector","proto":[2]},
      "secretKeyRef": {"type":"ref","to":"core.v1.SecretKeySelector","proto":[4]},
    },
  },
  "core.v1.EphemeralContainer": {
    required: ["name"],
    fields: {
      "args": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[1,4],"omitZero":true},
      "command": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[1,3],"omitZero":true},
      "env": {"type":"array","of":{"type":"ref","to":"core.v1.EnvVar"},"listType":"map","mapKeys":["name"],"mergeKey":"name","patchStrategy":["merge"],"proto":[1,7],"omitZero":true},
      "envFrom": {"type":"array","of":{"type":"ref","to":"core.v1.EnvFromSource"},"listType":"atomic","proto":[1,19],"omitZero":true},
      "image": {"type":"string","proto":[1,2],"omitZero":true},
      "imagePullPolicy": {"type":"string","proto":[1,14],"omitZero":true},
      "lifecycle": {"type":"ref","to":"core.v1.Lifecycle","proto":[1,12]},
      "livenessProbe": {"type":"ref","to":"core.v1.Probe","proto":[1,10]},
      "name": {"type":"string","proto":[1,1],"whenAbsent":"zero"},
      "ports": {"type":"array","of":{"type":"ref","to":"core.v1.ContainerPort"},"listType":"map","mapKeys":["containerPort","protocol"],"mergeKey":"containerPort","patchStrategy":["merge"],"proto":[1,6],"omitZero":true},
      "readinessProbe": {"type":"ref","to":"core.v1.Probe","proto":[1,11]},
      "resizePolicy": {"type":"array","of":{"type":"ref","to":"core.v1.ContainerResizePolicy"},"listType":"atomic","proto":[1,23],"omitZero":true},
      "resources": {"type":"ref","to":"core.v1.ResourceRequirements","proto":[1,8],"whenAbsent":"zero"},
      "restartPolicy": {"type":"string","proto":[1,24]},
      "restartPolicyRules": {"type":"array","of":{"type":"ref","to":"core.v1.ContainerRestartRule"},"listType":"atomic","proto":[1,25],"omitZero":true},
      "securityContext": {"type":"ref","to":"core.v1.SecurityContext","proto":[1,15]},
      "startupProbe": {"type":"ref","to":"core.v1.Probe","proto":[1,22]},
      "stdin": {"type":"boolean","proto":[1,16],"omitZero":true},
      "stdinOnce": {"type":"boolean","proto":[1,17],"omitZero":true},
      "targetContainerName": {"type":"string","proto":[2],"omitZero":true},
      "terminationMessagePath": {"type":"string","proto":[1,13],"omitZero":true},
      "terminationMessagePolicy": {"type":"string","proto":[1,20],"omitZero":true},
      "tty": {"type":"boolean","proto":[1,18],"omitZero":true},
      "volumeDevices": {"type":"array","of":{"type":"ref","to":"core.v1.VolumeDevice"},"listType":"map","mapKeys":["devicePath"],"mergeKey":"devicePath","patchStrategy":["merge"],"proto":[1,21],"omitZero":true},
      "volumeMounts": {"type":"array","of":{"type":"ref","to":"core.v1.VolumeMount"},"listType":"map","mapKeys":["mountPath"],"mergeKey":"mountPath","patchStrategy":["merge"],"proto":[1,9],"omitZero":true},
      "workingDir": {"type":"string","proto":[1,5],"omitZero":true},
    },
  },
  "core.v1.EphemeralVolumeSource": {
    fields: {
      "volumeClaimTemplate": {"type":"ref","to":"core.v1.PersistentVolumeClaimTemplate","proto":[1]},
    },
  },
  "core.v1.Event": {
    required: ["metadata","involvedObject"],
    fields: {
      "action": {"type":"string","proto":[12],"omitZero":true},
      "apiVersion": {"type":"string"},
      "count": {"type":"int32","proto":[8],"omitZero":true},
      "eventTime": {"type":"microTime","proto":[10],"whenAbsent":"null"},
      "firstTimestamp": {"type":"time","proto":[6],"whenAbsent":"null"},
      "involvedObject": {"type":"ref","to":"core.v1.ObjectReference","proto":[2],"whenAbsent":"zero"},
      "kind": {"type":"string"},
      "lastTimestamp": {"type":"time","proto":[7],"whenAbsent":"null"},
      "message": {"type":"string","proto":[4],"omitZero":true},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "reason": {"type":"string","proto":[3],"omitZero":true},
      "related": {"type":"ref","to":"core.v1.ObjectReference","proto":[13]},
      "reportingComponent": {"type":"string","proto":[14],"whenAbsent":"zero"},
      "reportingInstance": {"type":"string","proto":[15],"whenAbsent":"zero"},
      "series": {"type":"ref","to":"core.v1.EventSeries","proto":[11]},
      "source": {"type":"ref","to":"core.v1.EventSource","proto":[5],"whenAbsent":"zero"},
      "type": {"type":"string","proto":[9],"omitZero":true},
    },
  },
  "core.v1.EventSeries": {
    fields: {
      "count": {"type":"int32","proto":[1],"omitZero":true},
      "lastObservedTime": {"type":"microTime","proto":[2],"whenAbsent":"null"},
    },
  },
  "core.v1.EventSource": {
    fields: {
      "component": {"type":"string","proto":[1],"omitZero":true},
      "host": {"type":"string","proto":[2],"omitZero":true},
    },
  },
  "core.v1.ExecAction": {
    fields: {
      "command": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[1],"omitZero":true},
    },
  },
  "core.v1.FCVolumeSource": {
    fields: {
      "fsType": {"type":"string","proto":[3],"omitZero":true},
      "lun": {"type":"int32","proto":[2]},
      "readOnly": {"type":"boolean","proto":[4],"omitZero":true},
      "targetWWNs": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[1],"omitZero":true},
      "wwids": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[5],"omitZero":true},
    },
  },
  "core.v1.FileKeySelector": {
    required: ["volumeName","path","key"],
    atomic: true,
    fields: {
      "key": {"type":"string","proto":[3],"whenAbsent":"zero"},
      "optional": {"type":"boolean","proto":[4]},
      "path": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "volumeName": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.FlexVolumeSource": {
    required: ["driver"],
    fields: {
      "driver": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "fsType": {"type":"string","proto":[2],"omitZero":true},
      "options": {"type":"map","of":{"type":"string"},"proto":[5],"omitZero":true},
      "readOnly": {"type":"boolean","proto":[4],"omitZero":true},
      "secretRef": {"type":"ref","to":"core.v1.LocalObjectReference","proto":[3]},
    },
  },
  "core.v1.FlockerVolumeSource": {
    fields: {
      "datasetName": {"type":"string","proto":[1],"omitZero":true},
      "datasetUUID": {"type":"string","proto":[2],"omitZero":true},
    },
  },
  "core.v1.GCEPersistentDiskVolumeSource": {
    required: ["pdName"],
    fields: {
      "fsType": {"type":"string","proto":[2],"omitZero":true},
      "partition": {"type":"int32","proto":[3],"omitZero":true},
      "pdName": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "readOnly": {"type":"boolean","proto":[4],"omitZero":true},
    },
  },
  "core.v1.GRPCAction": {
    required: ["port"],
    fields: {
      "port": {"type":"int32","proto":[1],"whenAbsent":"zero"},
      "service": {"type":"string","proto":[2],"whenAbsent":"null"},
    },
  },
  "core.v1.GitRepoVolumeSource": {
    required: ["repository"],
    fields: {
      "directory": {"type":"string","proto":[3],"omitZero":true},
      "repository": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "revision": {"type":"string","proto":[2],"omitZero":true},
    },
  },
  "core.v1.GlusterfsVolumeSource": {
    required: ["endpoints","path"],
    fields: {
      "endpoints": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "path": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "readOnly": {"type":"boolean","proto":[3],"omitZero":true},
    },
  },
  "core.v1.HTTPGetAction": {
    required: ["port"],
    fields: {
      "host": {"type":"string","proto":[3],"omitZero":true},
      "httpHeaders": {"type":"array","of":{"type":"ref","to":"core.v1.HTTPHeader"},"listType":"atomic","proto":[5],"omitZero":true},
      "path": {"type":"string","proto":[1],"omitZero":true},
      "port": {"type":"intOrString","proto":[2],"whenAbsent":"zero"},
      "scheme": {"type":"string","proto":[4],"omitZero":true},
    },
  },
  "core.v1.HTTPHeader": {
    required: ["name","value"],
    fields: {
      "name": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "value": {"type":"string","proto":[2],"whenAbsent":"zero"},
    },
  },
  "core.v1.HostAlias": {
    required: ["ip"],
    fields: {
      "hostnames": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[2],"omitZero":true},
      "ip": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.HostIP": {
    required: ["ip"],
    fields: {
      "ip": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.HostPathVolumeSource": {
    required: ["path"],
    fields: {
      "path": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "type": {"type":"string","proto":[2]},
    },
  },
  "core.v1.ISCSIVolumeSource": {
    required: ["targetPortal","iqn","lun"],
    fields: {
      "chapAuthDiscovery": {"type":"boolean","proto":[8],"omitZero":true},
      "chapAuthSession": {"type":"boolean","proto":[11],"omitZero":true},
      "fsType": {"type":"string","proto":[5],"omitZero":true},
      "initiatorName": {"type":"string","proto":[12]},
      "iqn": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "iscsiInterface": {"type":"string","default":"default","proto":[4],"omitZero":true},
      "lun": {"type":"int32","proto":[3],"whenAbsent":"zero"},
      "portals": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[7],"omitZero":true},
      "readOnly": {"type":"boolean","proto":[6],"omitZero":true},
      "secretRef": {"type":"ref","to":"core.v1.LocalObjectReference","proto":[10]},
      "targetPortal": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.ImageVolumeSource": {
    fields: {
      "pullPolicy": {"type":"string","proto":[2],"omitZero":true},
      "reference": {"type":"string","proto":[1],"omitZero":true},
    },
  },
  "core.v1.ImageVolumeStatus": {
    required: ["imageRef"],
    fields: {
      "imageRef": {"type":"string","proto":[1],"omitZero":true},
    },
  },
  "core.v1.KeyToPath": {
    required: ["key","path"],
    fields: {
      "key": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "mode": {"type":"int32","proto":[3]},
      "path": {"type":"string","proto":[2],"whenAbsent":"zero"},
    },
  },
  "core.v1.Lifecycle": {
    fields: {
      "postStart": {"type":"ref","to":"core.v1.LifecycleHandler","proto":[1]},
      "preStop": {"type":"ref","to":"core.v1.LifecycleHandler","proto":[2]},
      "stopSignal": {"type":"string","proto":[3]},
    },
  },
  "core.v1.LifecycleHandler": {
    fields: {
      "exec": {"type":"ref","to":"core.v1.ExecAction","proto":[1]},
      "httpGet": {"type":"ref","to":"core.v1.HTTPGetAction","proto":[2]},
      "sleep": {"type":"ref","to":"core.v1.SleepAction","proto":[4]},
      "tcpSocket": {"type":"ref","to":"core.v1.TCPSocketAction","proto":[3]},
    },
  },
  "core.v1.LinuxContainerUser": {
    required: ["uid","gid"],
    fields: {
      "gid": {"type":"int64","proto":[2],"whenAbsent":"zero"},
      "supplementalGroups": {"type":"array","of":{"type":"int64"},"listType":"atomic","proto":[3],"omitZero":true},
      "uid": {"type":"int64","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.LoadBalancerIngress": {
    fields: {
      "hostname": {"type":"string","proto":[2],"omitZero":true},
      "ip": {"type":"string","proto":[1],"omitZero":true},
      "ipMode": {"type":"string","proto":[3]},
      "ports": {"type":"array","of":{"type":"ref","to":"core.v1.PortStatus"},"listType":"atomic","proto":[4],"omitZero":true},
    },
  },
  "core.v1.LoadBalancerStatus": {
    fields: {
      "ingress": {"type":"array","of":{"type":"ref","to":"core.v1.LoadBalancerIngress"},"listType":"atomic","proto":[1],"omitZero":true},
    },
  },
  "core.v1.LocalObjectReference": {
    atomic: true,
    fields: {
      "name": {"type":"string","proto":[1],"omitZero":true},
    },
  },
  "core.v1.NFSVolumeSource": {
    required: ["server","path"],
    fields: {
      "path": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "readOnly": {"type":"boolean","proto":[3],"omitZero":true},
      "server": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.Namespace": {
    fields: {
      "apiVersion": {"type":"string"},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "spec": {"type":"ref","to":"core.v1.NamespaceSpec","proto":[2],"whenAbsent":"zero"},
      "status": {"type":"ref","to":"core.v1.NamespaceStatus","proto":[3],"whenAbsent":"zero"},
    },
  },
  "core.v1.NamespaceCondition": {
    required: ["type","status"],
    fields: {
      "lastTransitionTime": {"type":"time","proto":[4],"whenAbsent":"null"},
      "message": {"type":"string","proto":[6],"omitZero":true},
      "reason": {"type":"string","proto":[5],"omitZero":true},
      "status": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "type": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.NamespaceSpec": {
    fields: {
      "finalizers": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[1],"omitZero":true},
    },
  },
  "core.v1.NamespaceStatus": {
    fields: {
      "conditions": {"type":"array","of":{"type":"ref","to":"core.v1.NamespaceCondition"},"listType":"map","mapKeys":["type"],"mergeKey":"type","patchStrategy":["merge"],"proto":[2],"omitZero":true},
      "phase": {"type":"string","proto":[1],"omitZero":true},
    },
  },
  "core.v1.Node": {
    fields: {
      "apiVersion": {"type":"string"},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "spec": {"type":"ref","to":"core.v1.NodeSpec","proto":[2],"whenAbsent":"zero"},
      "status": {"type":"ref","to":"core.v1.NodeStatus","proto":[3],"whenAbsent":"zero"},
    },
  },
  "core.v1.NodeAddress": {
    required: ["type","address"],
    fields: {
      "address": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "type": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.NodeAffinity": {
    fields: {
      "preferredDuringSchedulingIgnoredDuringExecution": {"type":"array","of":{"type":"ref","to":"core.v1.PreferredSchedulingTerm"},"listType":"atomic","proto":[2],"omitZero":true},
      "requiredDuringSchedulingIgnoredDuringExecution": {"type":"ref","to":"core.v1.NodeSelector","proto":[1]},
    },
  },
  "core.v1.NodeAllocatableResourceClaimStatus": {
    required: ["resourceClaimName","resources"],
    fields: {
      "containers": {"type":"array","of":{"type":"string"},"listType":"set","proto":[2],"omitZero":true},
      "resourceClaimName": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "resources": {"type":"map","of":{"type":"quantity"},"proto":[3],"whenAbsent":"null"},
    },
  },
  "core.v1.NodeCondition": {
    required: ["type","status"],
    fields: {
      "lastHeartbeatTime": {"type":"time","proto":[3],"whenAbsent":"null"},
      "lastTransitionTime": {"type":"time","proto":[4],"whenAbsent":"null"},
      "message": {"type":"string","proto":[6],"omitZero":true},
      "reason": {"type":"string","proto":[5],"omitZero":true},
      "status": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "type": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.NodeConfigSource": {
    fields: {
      "configMap": {"type":"ref","to":"core.v1.ConfigMapNodeConfigSource","proto":[2]},
    },
  },
  "core.v1.NodeConfigStatus": {
    fields: {
      "active": {"type":"ref","to":"core.v1.NodeConfigSource","proto":[2]},
      "assigned": {"type":"ref","to":"core.v1.NodeConfigSource","proto":[1]},
      "error": {"type":"string","proto":[4],"omitZero":true},
      "lastKnownGood": {"type":"ref","to":"core.v1.NodeConfigSource","proto":[3]},
    },
  },
  "core.v1.NodeDaemonEndpoints": {
    fields: {
      "kubeletEndpoint": {"type":"ref","to":"core.v1.DaemonEndpoint","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.NodeFeatures": {
    fields: {
      "supplementalGroupsPolicy": {"type":"boolean","proto":[1]},
    },
  },
  "core.v1.NodeRuntimeHandler": {
    fields: {
      "features": {"type":"ref","to":"core.v1.NodeRuntimeHandlerFeatures","proto":[2]},
      "name": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.NodeRuntimeHandlerFeatures": {
    fields: {
      "recursiveReadOnlyMounts": {"type":"boolean","proto":[1]},
      "userNamespaces": {"type":"boolean","proto":[2]},
    },
  },
  "core.v1.NodeSelector": {
    required: ["nodeSelectorTerms"],
    atomic: true,
    fields: {
      "nodeSelectorTerms": {"type":"array","of":{"type":"ref","to":"core.v1.NodeSelectorTerm"},"listType":"atomic","proto":[1],"whenAbsent":"null"},
    },
  },
  "core.v1.NodeSelectorRequirement": {
    required: ["key","operator"],
    fields: {
      "key": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "operator": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "values": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[3],"omitZero":true},
    },
  },
  "core.v1.NodeSelectorTerm": {
    atomic: true,
    fields: {
      "matchExpressions": {"type":"array","of":{"type":"ref","to":"core.v1.NodeSelectorRequirement"},"listType":"atomic","proto":[1],"omitZero":true},
      "matchFields": {"type":"array","of":{"type":"ref","to":"core.v1.NodeSelectorRequirement"},"listType":"atomic","proto":[2],"omitZero":true},
    },
  },
  "core.v1.NodeSpec": {
    fields: {
      "configSource": {"type":"ref","to":"core.v1.NodeConfigSource","proto":[6]},
      "externalID": {"type":"string","proto":[2],"omitZero":true},
      "podCIDR": {"type":"string","proto":[1],"omitZero":true},
      "podCIDRs": {"type":"array","of":{"type":"string"},"listType":"set","patchStrategy":["merge"],"proto":[7],"omitZero":true},
      "providerID": {"type":"string","proto":[3],"omitZero":true},
      "taints": {"type":"array","of":{"type":"ref","to":"core.v1.Taint"},"listType":"atomic","proto":[5],"omitZero":true},
      "unschedulable": {"type":"boolean","proto":[4],"omitZero":true},
    },
  },
  "core.v1.NodeStatus": {
    fields: {
      "addresses": {"type":"array","of":{"type":"ref","to":"core.v1.NodeAddress"},"listType":"map","mapKeys":["type"],"mergeKey":"type","patchStrategy":["merge"],"proto":[5],"omitZero":true},
      "allocatable": {"type":"map","of":{"type":"quantity"},"proto":[2],"omitZero":true},
      "capacity": {"type":"map","of":{"type":"quantity"},"proto":[1],"omitZero":true},
      "conditions": {"type":"array","of":{"type":"ref","to":"core.v1.NodeCondition"},"listType":"map","mapKeys":["type"],"mergeKey":"type","patchStrategy":["merge"],"proto":[4],"omitZero":true},
      "config": {"type":"ref","to":"core.v1.NodeConfigStatus","proto":[11]},
      "daemonEndpoints": {"type":"ref","to":"core.v1.NodeDaemonEndpoints","proto":[6],"whenAbsent":"zero"},
      "declaredFeatures": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[14],"omitZero":true},
      "features": {"type":"ref","to":"core.v1.NodeFeatures","proto":[13]},
      "images": {"type":"array","of":{"type":"ref","to":"core.v1.ContainerImage"},"listType":"atomic","proto":[8],"omitZero":true},
      "nodeInfo": {"type":"ref","to":"core.v1.NodeSystemInfo","proto":[7],"whenAbsent":"zero"},
      "phase": {"type":"string","proto":[3],"omitZero":true},
      "runtimeHandlers": {"type":"array","of":{"type":"ref","to":"core.v1.NodeRuntimeHandler"},"listType":"atomic","proto":[12],"omitZero":true},
      "volumesAttached": {"type":"array","of":{"type":"ref","to":"core.v1.AttachedVolume"},"listType":"atomic","proto":[10],"omitZero":true},
      "volumesInUse": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[9],"omitZero":true},
    },
  },
  "core.v1.NodeSwapStatus": {
    fields: {
      "capacity": {"type":"int64","proto":[1]},
    },
  },
  "core.v1.NodeSystemInfo": {
    required: ["machineID","systemUUID","bootID","kernelVersion","osImage","containerRuntimeVersion","kubeletVersion","kubeProxyVersion","operatingSystem","architecture"],
    fields: {
      "architecture": {"type":"string","proto":[10],"whenAbsent":"zero"},
      "bootID": {"type":"string","proto":[3],"whenAbsent":"zero"},
      "containerRuntimeVersion": {"type":"string","proto":[6],"whenAbsent":"zero"},
      "kernelVersion": {"type":"string","proto":[4],"whenAbsent":"zero"},
      "kubeProxyVersion": {"type":"string","proto":[8],"whenAbsent":"zero"},
      "kubeletVersion": {"type":"string","proto":[7],"whenAbsent":"zero"},
      "machineID": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "operatingSystem": {"type":"string","proto":[9],"whenAbsent":"zero"},
      "osImage": {"type":"string","proto":[5],"whenAbsent":"zero"},
      "swap": {"type":"ref","to":"core.v1.NodeSwapStatus","proto":[11]},
      "systemUUID": {"type":"string","proto":[2],"whenAbsent":"zero"},
    },
  },
  "core.v1.ObjectFieldSelector": {
    required: ["fieldPath"],
    atomic: true,
    fields: {
      "apiVersion": {"type":"string","proto":[1],"omitZero":true},
      "fieldPath": {"type":"string","proto":[2],"whenAbsent":"zero"},
    },
  },
  "core.v1.ObjectReference": {
    atomic: true,
    fields: {
      "apiVersion": {"type":"string","proto":[5],"omitZero":true},
      "fieldPath": {"type":"string","proto":[7],"omitZero":true},
      "kind": {"type":"string","proto":[1],"omitZero":true},
      "name": {"type":"string","proto":[3],"omitZero":true},
      "namespace": {"type":"string","proto":[2],"omitZero":true},
      "resourceVersion": {"type":"string","proto":[6],"omitZero":true},
      "uid": {"type":"string","proto":[4],"omitZero":true},
    },
  },
  "core.v1.PersistentVolumeClaimSpec": {
    fields: {
      "accessModes": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[1],"omitZero":true},
      "dataSource": {"type":"ref","to":"core.v1.TypedLocalObjectReference","proto":[7]},
      "dataSourceRef": {"type":"ref","to":"core.v1.TypedObjectReference","proto":[8]},
      "resources": {"type":"ref","to":"core.v1.VolumeResourceRequirements","proto":[2],"whenAbsent":"zero"},
      "selector": {"type":"ref","to":"meta.v1.LabelSelector","proto":[4]},
      "storageClassName": {"type":"string","proto":[5]},
      "volumeAttributesClassName": {"type":"string","proto":[9]},
      "volumeMode": {"type":"string","proto":[6]},
      "volumeName": {"type":"string","proto":[3],"omitZero":true},
    },
  },
  "core.v1.PersistentVolumeClaimTemplate": {
    required: ["spec"],
    fields: {
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "spec": {"type":"ref","to":"core.v1.PersistentVolumeClaimSpec","proto":[2],"whenAbsent":"zero"},
    },
  },
  "core.v1.PersistentVolumeClaimVolumeSource": {
    required: ["claimName"],
    fields: {
      "claimName": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "readOnly": {"type":"boolean","proto":[2],"omitZero":true},
    },
  },
  "core.v1.PhotonPersistentDiskVolumeSource": {
    required: ["pdID"],
    fields: {
      "fsType": {"type":"string","proto":[2],"omitZero":true},
      "pdID": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.Pod": {
    fields: {
      "apiVersion": {"type":"string"},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "spec": {"type":"ref","to":"core.v1.PodSpec","proto":[2],"whenAbsent":"zero"},
      "status": {"type":"ref","to":"core.v1.PodStatus","proto":[3],"whenAbsent":"zero"},
    },
  },
  "core.v1.PodAffinity": {
    fields: {
      "preferredDuringSchedulingIgnoredDuringExecution": {"type":"array","of":{"type":"ref","to":"core.v1.WeightedPodAffinityTerm"},"listType":"atomic","proto":[2],"omitZero":true},
      "requiredDuringSchedulingIgnoredDuringExecution": {"type":"array","of":{"type":"ref","to":"core.v1.PodAffinityTerm"},"listType":"atomic","proto":[1],"omitZero":true},
    },
  },
  "core.v1.PodAffinityTerm": {
    required: ["topologyKey"],
    fields: {
      "labelSelector": {"type":"ref","to":"meta.v1.LabelSelector","proto":[1]},
      "matchLabelKeys": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[5],"omitZero":true},
      "mismatchLabelKeys": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[6],"omitZero":true},
      "namespaceSelector": {"type":"ref","to":"meta.v1.LabelSelector","proto":[4]},
      "namespaces": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[2],"omitZero":true},
      "topologyKey": {"type":"string","proto":[3],"whenAbsent":"zero"},
    },
  },
  "core.v1.PodAntiAffinity": {
    fields: {
      "preferredDuringSchedulingIgnoredDuringExecution": {"type":"array","of":{"type":"ref","to":"core.v1.WeightedPodAffinityTerm"},"listType":"atomic","proto":[2],"omitZero":true},
      "requiredDuringSchedulingIgnoredDuringExecution": {"type":"array","of":{"type":"ref","to":"core.v1.PodAffinityTerm"},"listType":"atomic","proto":[1],"omitZero":true},
    },
  },
  "core.v1.PodCertificateProjection": {
    required: ["signerName","keyType"],
    fields: {
      "certificateChainPath": {"type":"string","proto":[6],"omitZero":true},
      "credentialBundlePath": {"type":"string","proto":[4],"omitZero":true},
      "keyPath": {"type":"string","proto":[5],"omitZero":true},
      "keyType": {"type":"string","proto":[2],"omitZero":true},
      "maxExpirationSeconds": {"type":"int32","proto":[3]},
      "signerName": {"type":"string","proto":[1],"omitZero":true},
      "userAnnotations": {"type":"map","of":{"type":"string"},"proto":[7],"omitZero":true},
    },
  },
  "core.v1.PodCondition": {
    required: ["type","status"],
    fields: {
      "lastProbeTime": {"type":"time","proto":[3],"whenAbsent":"null"},
      "lastTransitionTime": {"type":"time","proto":[4],"whenAbsent":"null"},
      "message": {"type":"string","proto":[6],"omitZero":true},
      "observedGeneration": {"type":"int64","proto":[7],"omitZero":true},
      "reason": {"type":"string","proto":[5],"omitZero":true},
      "status": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "type": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.PodDNSConfig": {
    fields: {
      "nameservers": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[1],"omitZero":true},
      "options": {"type":"array","of":{"type":"ref","to":"core.v1.PodDNSConfigOption"},"listType":"atomic","proto":[3],"omitZero":true},
      "searches": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[2],"omitZero":true},
    },
  },
  "core.v1.PodDNSConfigOption": {
    fields: {
      "name": {"type":"string","proto":[1],"omitZero":true},
      "value": {"type":"string","proto":[2]},
    },
  },
  "core.v1.PodExtendedResourceClaimStatus": {
    required: ["requestMappings","resourceClaimName"],
    fields: {
      "requestMappings": {"type":"array","of":{"type":"ref","to":"core.v1.ContainerExtendedResourceRequest"},"listType":"atomic","proto":[1],"whenAbsent":"null"},
      "resourceClaimName": {"type":"string","proto":[2],"whenAbsent":"zero"},
    },
  },
  "core.v1.PodIP": {
    required: ["ip"],
    fields: {
      "ip": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.PodOS": {
    required: ["name"],
    fields: {
      "name": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.PodReadinessGate": {
    required: ["conditionType"],
    fields: {
      "conditionType": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.PodResourceClaim": {
    required: ["name"],
    fields: {
      "name": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "resourceClaimName": {"type":"string","proto":[3]},
      "resourceClaimTemplateName": {"type":"string","proto":[4]},
    },
  },
  "core.v1.PodResourceClaimStatus": {
    required: ["name"],
    fields: {
      "name": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "resourceClaimName": {"type":"string","proto":[2]},
    },
  },
  "core.v1.PodSchedulingGate": {
    required: ["name"],
    fields: {
      "name": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.PodSchedulingGroup": {
    fields: {
      "podGroupName": {"type":"string","proto":[1]},
    },
  },
  "core.v1.PodSecurityContext": {
    fields: {
      "appArmorProfile": {"type":"ref","to":"core.v1.AppArmorProfile","proto":[11]},
      "fsGroup": {"type":"int64","proto":[5]},
      "fsGroupChangePolicy": {"type":"string","proto":[9]},
      "runAsGroup": {"type":"int64","proto":[6]},
      "runAsNonRoot": {"type":"boolean","proto":[3]},
      "runAsUser": {"type":"int64","proto":[2]},
      "seLinuxChangePolicy": {"type":"string","proto":[13]},
      "seLinuxOptions": {"type":"ref","to":"core.v1.SELinuxOptions","proto":[1]},
      "seccompProfile": {"type":"ref","to":"core.v1.SeccompProfile","proto":[10]},
      "supplementalGroups": {"type":"array","of":{"type":"int64"},"listType":"atomic","proto":[4],"omitZero":true},
      "supplementalGroupsPolicy": {"type":"string","proto":[12]},
      "sysctls": {"type":"array","of":{"type":"ref","to":"core.v1.Sysctl"},"listType":"atomic","proto":[7],"omitZero":true},
      "windowsOptions": {"type":"ref","to":"core.v1.WindowsSecurityContextOptions","proto":[8]},
    },
  },
  "core.v1.PodSpec": {
    required: ["containers"],
    fields: {
      "activeDeadlineSeconds": {"type":"int64","proto":[5]},
      "affinity": {"type":"ref","to":"core.v1.Affinity","proto":[18]},
      "automountServiceAccountToken": {"type":"boolean","proto":[21]},
      "containers": {"type":"array","of":{"type":"ref","to":"core.v1.Container"},"listType":"map","mapKeys":["name"],"mergeKey":"name","patchStrategy":["merge"],"proto":[2],"whenAbsent":"null"},
      "dnsConfig": {"type":"ref","to":"core.v1.PodDNSConfig","proto":[26]},
      "dnsPolicy": {"type":"string","proto":[6],"omitZero":true},
      "enableServiceLinks": {"type":"boolean","proto":[30]},
      "ephemeralContainers": {"type":"array","of":{"type":"ref","to":"core.v1.EphemeralContainer"},"listType":"map","mapKeys":["name"],"mergeKey":"name","patchStrategy":["merge"],"proto":[34],"omitZero":true},
      "hostAliases": {"type":"array","of":{"type":"ref","to":"core.v1.HostAlias"},"listType":"map","mapKeys":["ip"],"mergeKey":"ip","patchStrategy":["merge"],"proto":[23],"omitZero":true},
      "hostIPC": {"type":"boolean","proto":[13],"omitZero":true},
      "hostNetwork": {"type":"boolean","proto":[11],"omitZero":true},
      "hostPID": {"type":"boolean","proto":[12],"omitZero":true},
      "hostUsers": {"type":"boolean","proto":[37]},
      "hostname": {"type":"string","proto":[16],"omitZero":true},
      "hostnameOverride": {"type":"string","proto":[41]},
      "imagePullSecrets": {"type":"array","of":{"type":"ref","to":"core.v1.LocalObjectReference"},"listType":"map","mapKeys":["name"],"mergeKey":"name","patchStrategy":["merge"],"proto":[15],"omitZero":true},
      "initContainers": {"type":"array","of":{"type":"ref","to":"core.v1.Container"},"listType":"map","mapKeys":["name"],"mergeKey":"name","patchStrategy":["merge"],"proto":[20],"omitZero":true},
      "nodeName": {"type":"string","proto":[10],"omitZero":true},
      "nodeSelector": {"type":"map","of":{"type":"string"},"atomic":true,"proto":[7],"omitZero":true},
      "os": {"type":"ref","to":"core.v1.PodOS","proto":[36]},
      "overhead": {"type":"map","of":{"type":"quantity"},"proto":[32],"omitZero":true},
      "preemptionPolicy": {"type":"string","proto":[31]},
      "priority": {"type":"int32","proto":[25]},
      "priorityClassName": {"type":"string","proto":[24],"omitZero":true},
      "readinessGates": {"type":"array","of":{"type":"ref","to":"core.v1.PodReadinessGate"},"listType":"atomic","proto":[28],"omitZero":true},
      "resourceClaims": {"type":"array","of":{"type":"ref","to":"core.v1.PodResourceClaim"},"listType":"map","mapKeys":["name"],"mergeKey":"name","patchStrategy":["merge","retainKeys"],"proto":[39],"omitZero":true},
      "resources": {"type":"ref","to":"core.v1.ResourceRequirements","proto":[40]},
      "restartPolicy": {"type":"string","proto":[3],"omitZero":true},
      "runtimeClassName": {"type":"string","proto":[29]},
      "schedulerName": {"type":"string","proto":[19],"omitZero":true},
      "schedulingGates": {"type":"array","of":{"type":"ref","to":"core.v1.PodSchedulingGate"},"listType":"map","mapKeys":["name"],"mergeKey":"name","patchStrategy":["merge"],"proto":[38],"omitZero":true},
      "schedulingGroup": {"type":"ref","to":"core.v1.PodSchedulingGroup","proto":[43]},
      "securityContext": {"type":"ref","to":"core.v1.PodSecurityContext","proto":[14]},
      "serviceAccount": {"type":"string","proto":[9],"omitZero":true},
      "serviceAccountName": {"type":"string","proto":[8],"omitZero":true},
      "setHostnameAsFQDN": {"type":"boolean","proto":[35]},
      "shareProcessNamespace": {"type":"boolean","proto":[27]},
      "subdomain": {"type":"string","proto":[17],"omitZero":true},
      "terminationGracePeriodSeconds": {"type":"int64","proto":[4]},
      "tolerations": {"type":"array","of":{"type":"ref","to":"core.v1.Toleration"},"listType":"atomic","proto":[22],"omitZero":true},
      "topologySpreadConstraints": {"type":"array","of":{"type":"ref","to":"core.v1.TopologySpreadConstraint"},"listType":"map","mapKeys":["topologyKey","whenUnsatisfiable"],"mergeKey":"topologyKey","patchStrategy":["merge"],"proto":[33],"omitZero":true},
      "volumes": {"type":"array","of":{"type":"ref","to":"core.v1.Volume"},"listType":"map","mapKeys":["name"],"mergeKey":"name","patchStrategy":["merge","retainKeys"],"proto":[1],"omitZero":true},
    },
  },
  "core.v1.PodStatus": {
    fields: {
      "allocatedResources": {"type":"map","of":{"type":"quantity"},"proto":[19],"omitZero":true},
      "conditions": {"type":"array","of":{"type":"ref","to":"core.v1.PodCondition"},"listType":"map","mapKeys":["type"],"mergeKey":"type","patchStrategy":["merge"],"proto":[2],"omitZero":true},
      "containerStatuses": {"type":"array","of":{"type":"ref","to":"core.v1.ContainerStatus"},"listType":"atomic","proto":[8],"omitZero":true},
      "ephemeralContainerStatuses": {"type":"array","of":{"type":"ref","to":"core.v1.ContainerStatus"},"listType":"atomic","proto":[13],"omitZero":true},
      "extendedResourceClaimStatus": {"type":"ref","to":"core.v1.PodExtendedResourceClaimStatus","proto":[18]},
      "hostIP": {"type":"string","proto":[5],"omitZero":true},
      "hostIPs": {"type":"array","of":{"type":"ref","to":"core.v1.HostIP"},"listType":"atomic","mergeKey":"ip","patchStrategy":["merge"],"proto":[16],"omitZero":true},
      "initContainerStatuses": {"type":"array","of":{"type":"ref","to":"core.v1.ContainerStatus"},"listType":"atomic","proto":[10],"omitZero":true},
      "message": {"type":"string","proto":[3],"omitZero":true},
      "nodeAllocatableResourceClaimStatuses": {"type":"array","of":{"type":"ref","to":"core.v1.NodeAllocatableResourceClaimStatus"},"listType":"atomic","proto":[21],"omitZero":true},
      "nominatedNodeName": {"type":"string","proto":[11],"omitZero":true},
      "observedGeneration": {"type":"int64","proto":[17],"omitZero":true},
      "phase": {"type":"string","proto":[1],"omitZero":true},
      "podIP": {"type":"string","proto":[6],"omitZero":true},
      "podIPs": {"type":"array","of":{"type":"ref","to":"core.v1.PodIP"},"listType":"map","mapKeys":["ip"],"mergeKey":"ip","patchStrategy":["merge"],"proto":[12],"omitZero":true},
      "qosClass": {"type":"string","proto":[9],"omitZero":true},
      "reason": {"type":"string","proto":[4],"omitZero":true},
      "resize": {"type":"string","proto":[14],"omitZero":true},
      "resourceClaimStatuses": {"type":"array","of":{"type":"ref","to":"core.v1.PodResourceClaimStatus"},"listType":"map","mapKeys":["name"],"mergeKey":"name","patchStrategy":["merge","retainKeys"],"proto":[15],"omitZero":true},
      "resources": {"type":"ref","to":"core.v1.ResourceRequirements","proto":[20]},
      "startTime": {"type":"time","proto":[7]},
    },
  },
  "core.v1.PodTemplateSpec": {
    fields: {
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "spec": {"type":"ref","to":"core.v1.PodSpec","proto":[2],"whenAbsent":"zero"},
    },
  },
  "core.v1.PortStatus": {
    required: ["port","protocol"],
    fields: {
      "error": {"type":"string","proto":[3]},
      "port": {"type":"int32","proto":[1],"whenAbsent":"zero"},
      "protocol": {"type":"string","proto":[2],"whenAbsent":"zero"},
    },
  },
  "core.v1.PortworxVolumeSource": {
    required: ["volumeID"],
    fields: {
      "fsType": {"type":"string","proto":[2],"omitZero":true},
      "readOnly": {"type":"boolean","proto":[3],"omitZero":true},
      "volumeID": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.PreferredSchedulingTerm": {
    required: ["weight","preference"],
    fields: {
      "preference": {"type":"ref","to":"core.v1.NodeSelectorTerm","proto":[2],"whenAbsent":"zero"},
      "weight": {"type":"int32","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.Probe": {
    fields: {
      "exec": {"type":"ref","to":"core.v1.ExecAction","proto":[1,1]},
      "failureThreshold": {"type":"int32","proto":[6],"omitZero":true},
      "grpc": {"type":"ref","to":"core.v1.GRPCAction","proto":[1,4]},
      "httpGet": {"type":"ref","to":"core.v1.HTTPGetAction","proto":[1,2]},
      "initialDelaySeconds": {"type":"int32","proto":[2],"omitZero":true},
      "periodSeconds": {"type":"int32","proto":[4],"omitZero":true},
      "successThreshold": {"type":"int32","proto":[5],"omitZero":true},
      "tcpSocket": {"type":"ref","to":"core.v1.TCPSocketAction","proto":[1,3]},
      "terminationGracePeriodSeconds": {"type":"int64","proto":[7]},
      "timeoutSeconds": {"type":"int32","proto":[3],"omitZero":true},
    },
  },
  "core.v1.ProjectedVolumeSource": {
    fields: {
      "defaultMode": {"type":"int32","proto":[2]},
      "sources": {"type":"array","of":{"type":"ref","to":"core.v1.VolumeProjection"},"listType":"atomic","proto":[1],"whenAbsent":"null"},
    },
  },
  "core.v1.QuobyteVolumeSource": {
    required: ["registry","volume"],
    fields: {
      "group": {"type":"string","proto":[5],"omitZero":true},
      "readOnly": {"type":"boolean","proto":[3],"omitZero":true},
      "registry": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "tenant": {"type":"string","proto":[6],"omitZero":true},
      "user": {"type":"string","proto":[4],"omitZero":true},
      "volume": {"type":"string","proto":[2],"whenAbsent":"zero"},
    },
  },
  "core.v1.RBDVolumeSource": {
    required: ["monitors","image"],
    fields: {
      "fsType": {"type":"string","proto":[3],"omitZero":true},
      "image": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "keyring": {"type":"string","default":"/etc/ceph/keyring","proto":[6],"omitZero":true},
      "monitors": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[1],"whenAbsent":"null"},
      "pool": {"type":"string","default":"rbd","proto":[4],"omitZero":true},
      "readOnly": {"type":"boolean","proto":[8],"omitZero":true},
      "secretRef": {"type":"ref","to":"core.v1.LocalObjectReference","proto":[7]},
      "user": {"type":"string","default":"admin","proto":[5],"omitZero":true},
    },
  },
  "core.v1.ReplicationController": {
    fields: {
      "apiVersion": {"type":"string"},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "spec": {"type":"ref","to":"core.v1.ReplicationControllerSpec","proto":[2],"whenAbsent":"zero"},
      "status": {"type":"ref","to":"core.v1.ReplicationControllerStatus","proto":[3],"whenAbsent":"zero"},
    },
  },
  "core.v1.ReplicationControllerCondition": {
    required: ["type","status"],
    fields: {
      "lastTransitionTime": {"type":"time","proto":[3],"whenAbsent":"null"},
      "message": {"type":"string","proto":[5],"omitZero":true},
      "reason": {"type":"string","proto":[4],"omitZero":true},
      "status": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "type": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.ReplicationControllerSpec": {
    fields: {
      "minReadySeconds": {"type":"int32","proto":[4],"omitZero":true},
      "replicas": {"type":"int32","default":1,"proto":[1]},
      "selector": {"type":"map","of":{"type":"string"},"atomic":true,"proto":[2],"omitZero":true},
      "template": {"type":"ref","to":"core.v1.PodTemplateSpec","proto":[3]},
    },
  },
  "core.v1.ReplicationControllerStatus": {
    required: ["replicas"],
    fields: {
      "availableReplicas": {"type":"int32","proto":[5],"omitZero":true},
      "conditions": {"type":"array","of":{"type":"ref","to":"core.v1.ReplicationControllerCondition"},"listType":"map","mapKeys":["type"],"mergeKey":"type","patchStrategy":["merge"],"proto":[6],"omitZero":true},
      "fullyLabeledReplicas": {"type":"int32","proto":[2],"omitZero":true},
      "observedGeneration": {"type":"int64","proto":[3],"omitZero":true},
      "readyReplicas": {"type":"int32","proto":[4],"omitZero":true},
      "replicas": {"type":"int32","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.ResourceClaim": {
    required: ["name"],
    fields: {
      "name": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "request": {"type":"string","proto":[2],"omitZero":true},
    },
  },
  "core.v1.ResourceFieldSelector": {
    required: ["resource"],
    atomic: true,
    fields: {
      "containerName": {"type":"string","proto":[1],"omitZero":true},
      "divisor": {"type":"quantity","proto":[3],"whenAbsent":"zero"},
      "resource": {"type":"string","proto":[2],"whenAbsent":"zero"},
    },
  },
  "core.v1.ResourceHealth": {
    required: ["resourceID"],
    fields: {
      "health": {"type":"string","proto":[2],"omitZero":true},
      "message": {"type":"string","proto":[6]},
      "resourceID": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.ResourceRequirements": {
    fields: {
      "claims": {"type":"array","of":{"type":"ref","to":"core.v1.ResourceClaim"},"listType":"map","mapKeys":["name"],"proto":[3],"omitZero":true},
      "limits": {"type":"map","of":{"type":"quantity"},"proto":[1],"omitZero":true},
      "requests": {"type":"map","of":{"type":"quantity"},"proto":[2],"omitZero":true},
    },
  },
  "core.v1.ResourceStatus": {
    required: ["name"],
    fields: {
      "name": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "resources": {"type":"array","of":{"type":"ref","to":"core.v1.ResourceHealth"},"listType":"map","mapKeys":["resourceID"],"proto":[2],"omitZero":true},
    },
  },
  "core.v1.SELinuxOptions": {
    fields: {
      "level": {"type":"string","proto":[4],"omitZero":true},
      "role": {"type":"string","proto":[2],"omitZero":true},
      "type": {"type":"string","proto":[3],"omitZero":true},
      "user": {"type":"string","proto":[1],"omitZero":true},
    },
  },
  "core.v1.ScaleIOVolumeSource": {
    required: ["gateway","system","secretRef"],
    fields: {
      "fsType": {"type":"string","default":"xfs","proto":[9],"omitZero":true},
      "gateway": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "protectionDomain": {"type":"string","proto":[5],"omitZero":true},
      "readOnly": {"type":"boolean","proto":[10],"omitZero":true},
      "secretRef": {"type":"ref","to":"core.v1.LocalObjectReference","proto":[3],"whenAbsent":"null"},
      "sslEnabled": {"type":"boolean","proto":[4],"omitZero":true},
      "storageMode": {"type":"string","default":"ThinProvisioned","proto":[7],"omitZero":true},
      "storagePool": {"type":"string","proto":[6],"omitZero":true},
      "system": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "volumeName": {"type":"string","proto":[8],"omitZero":true},
    },
  },
  "core.v1.SeccompProfile": {
    required: ["type"],
    fields: {
      "localhostProfile": {"type":"string","proto":[2]},
      "type": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.Secret": {
    fields: {
      "apiVersion": {"type":"string"},
      "data": {"type":"map","of":{"type":"bytes"},"proto":[2],"omitZero":true},
      "immutable": {"type":"boolean","proto":[5]},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "stringData": {"type":"map","of":{"type":"string"},"proto":[4],"omitZero":true},
      "type": {"type":"string","proto":[3],"omitZero":true},
    },
  },
  "core.v1.SecretEnvSource": {
    fields: {
      "name": {"type":"string","proto":[1,1],"omitZero":true},
      "optional": {"type":"boolean","proto":[2]},
    },
  },
  "core.v1.SecretKeySelector": {
    required: ["key"],
    atomic: true,
    fields: {
      "key": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "name": {"type":"string","proto":[1,1],"omitZero":true},
      "optional": {"type":"boolean","proto":[3]},
    },
  },
  "core.v1.SecretProjection": {
    fields: {
      "items": {"type":"array","of":{"type":"ref","to":"core.v1.KeyToPath"},"listType":"atomic","proto":[2],"omitZero":true},
      "name": {"type":"string","proto":[1,1],"omitZero":true},
      "optional": {"type":"boolean","proto":[4]},
    },
  },
  "core.v1.SecretVolumeSource": {
    fields: {
      "defaultMode": {"type":"int32","proto":[3]},
      "items": {"type":"array","of":{"type":"ref","to":"core.v1.KeyToPath"},"listType":"atomic","proto":[2],"omitZero":true},
      "optional": {"type":"boolean","proto":[4]},
      "secretName": {"type":"string","proto":[1],"omitZero":true},
    },
  },
  "core.v1.SecurityContext": {
    fields: {
      "allowPrivilegeEscalation": {"type":"boolean","proto":[7]},
      "appArmorProfile": {"type":"ref","to":"core.v1.AppArmorProfile","proto":[12]},
      "capabilities": {"type":"ref","to":"core.v1.Capabilities","proto":[1]},
      "privileged": {"type":"boolean","proto":[2]},
      "procMount": {"type":"string","proto":[9]},
      "readOnlyRootFilesystem": {"type":"boolean","proto":[6]},
      "runAsGroup": {"type":"int64","proto":[8]},
      "runAsNonRoot": {"type":"boolean","proto":[5]},
      "runAsUser": {"type":"int64","proto":[4]},
      "seLinuxOptions": {"type":"ref","to":"core.v1.SELinuxOptions","proto":[3]},
      "seccompProfile": {"type":"ref","to":"core.v1.SeccompProfile","proto":[11]},
      "windowsOptions": {"type":"ref","to":"core.v1.WindowsSecurityContextOptions","proto":[10]},
    },
  },
  "core.v1.Service": {
    fields: {
      "apiVersion": {"type":"string"},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "spec": {"type":"ref","to":"core.v1.ServiceSpec","proto":[2],"whenAbsent":"zero"},
      "status": {"type":"ref","to":"core.v1.ServiceStatus","proto":[3],"whenAbsent":"zero"},
    },
  },
  "core.v1.ServiceAccount": {
    fields: {
      "apiVersion": {"type":"string"},
      "automountServiceAccountToken": {"type":"boolean","proto":[4]},
      "imagePullSecrets": {"type":"array","of":{"type":"ref","to":"core.v1.LocalObjectReference"},"listType":"atomic","proto":[3],"omitZero":true},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "secrets": {"type":"array","of":{"type":"ref","to":"core.v1.ObjectReference"},"listType":"map","mapKeys":["name"],"mergeKey":"name","patchStrategy":["merge"],"proto":[2],"omitZero":true},
    },
  },
  "core.v1.ServiceAccountTokenProjection": {
    required: ["path"],
    fields: {
      "audience": {"type":"string","proto":[1],"omitZero":true},
      "expirationSeconds": {"type":"int64","proto":[2]},
      "path": {"type":"string","proto":[3],"whenAbsent":"zero"},
    },
  },
  "core.v1.ServicePort": {
    required: ["port"],
    fields: {
      "appProtocol": {"type":"string","proto":[6]},
      "name": {"type":"string","proto":[1],"omitZero":true},
      "nodePort": {"type":"int32","proto":[5],"omitZero":true},
      "port": {"type":"int32","proto":[3],"whenAbsent":"zero"},
      "protocol": {"type":"string","default":"TCP","proto":[2],"omitZero":true},
      "targetPort": {"type":"intOrString","proto":[4],"whenAbsent":"zero"},
    },
  },
  "core.v1.ServiceSpec": {
    fields: {
      "allocateLoadBalancerNodePorts": {"type":"boolean","proto":[20]},
      "clusterIP": {"type":"string","proto":[3],"omitZero":true},
      "clusterIPs": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[18],"omitZero":true},
      "externalIPs": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[5],"omitZero":true},
      "externalName": {"type":"string","proto":[10],"omitZero":true},
      "externalTrafficPolicy": {"type":"string","proto":[11],"omitZero":true},
      "healthCheckNodePort": {"type":"int32","proto":[12],"omitZero":true},
      "internalTrafficPolicy": {"type":"string","proto":[22]},
      "ipFamilies": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[19],"omitZero":true},
      "ipFamilyPolicy": {"type":"string","proto":[17]},
      "loadBalancerClass": {"type":"string","proto":[21]},
      "loadBalancerIP": {"type":"string","proto":[8],"omitZero":true},
      "loadBalancerSourceRanges": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[9],"omitZero":true},
      "ports": {"type":"array","of":{"type":"ref","to":"core.v1.ServicePort"},"listType":"map","mapKeys":["port","protocol"],"mergeKey":"port","patchStrategy":["merge"],"proto":[1],"omitZero":true},
      "publishNotReadyAddresses": {"type":"boolean","proto":[13],"omitZero":true},
      "selector": {"type":"map","of":{"type":"string"},"atomic":true,"proto":[2],"omitZero":true},
      "sessionAffinity": {"type":"string","proto":[7],"omitZero":true},
      "sessionAffinityConfig": {"type":"ref","to":"core.v1.SessionAffinityConfig","proto":[14]},
      "trafficDistribution": {"type":"string","proto":[23]},
      "type": {"type":"string","proto":[4],"omitZero":true},
    },
  },
  "core.v1.ServiceStatus": {
    fields: {
      "conditions": {"type":"array","of":{"type":"ref","to":"meta.v1.Condition"},"listType":"map","mapKeys":["type"],"mergeKey":"type","patchStrategy":["merge"],"proto":[2],"omitZero":true},
      "loadBalancer": {"type":"ref","to":"core.v1.LoadBalancerStatus","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.SessionAffinityConfig": {
    fields: {
      "clientIP": {"type":"ref","to":"core.v1.ClientIPConfig","proto":[1]},
    },
  },
  "core.v1.SleepAction": {
    required: ["seconds"],
    fields: {
      "seconds": {"type":"int64","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.StorageOSVolumeSource": {
    fields: {
      "fsType": {"type":"string","proto":[3],"omitZero":true},
      "readOnly": {"type":"boolean","proto":[4],"omitZero":true},
      "secretRef": {"type":"ref","to":"core.v1.LocalObjectReference","proto":[5]},
      "volumeName": {"type":"string","proto":[1],"omitZero":true},
      "volumeNamespace": {"type":"string","proto":[2],"omitZero":true},
    },
  },
  "core.v1.Sysctl": {
    required: ["name","value"],
    fields: {
      "name": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "value": {"type":"string","proto":[2],"whenAbsent":"zero"},
    },
  },
  "core.v1.TCPSocketAction": {
    required: ["port"],
    fields: {
      "host": {"type":"string","proto":[2],"omitZero":true},
      "port": {"type":"intOrString","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.Taint": {
    required: ["key","effect"],
    fields: {
      "effect": {"type":"string","proto":[3],"whenAbsent":"zero"},
      "key": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "timeAdded": {"type":"time","proto":[4]},
      "value": {"type":"string","proto":[2],"omitZero":true},
    },
  },
  "core.v1.Toleration": {
    fields: {
      "effect": {"type":"string","proto":[4],"omitZero":true},
      "key": {"type":"string","proto":[1],"omitZero":true},
      "operator": {"type":"string","proto":[2],"omitZero":true},
      "tolerationSeconds": {"type":"int64","proto":[5]},
      "value": {"type":"string","proto":[3],"omitZero":true},
    },
  },
  "core.v1.TopologySpreadConstraint": {
    required: ["maxSkew","topologyKey","whenUnsatisfiable"],
    fields: {
      "labelSelector": {"type":"ref","to":"meta.v1.LabelSelector","proto":[4]},
      "matchLabelKeys": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[8],"omitZero":true},
      "maxSkew": {"type":"int32","proto":[1],"whenAbsent":"zero"},
      "minDomains": {"type":"int32","proto":[5]},
      "nodeAffinityPolicy": {"type":"string","proto":[6]},
      "nodeTaintsPolicy": {"type":"string","proto":[7]},
      "topologyKey": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "whenUnsatisfiable": {"type":"string","proto":[3],"whenAbsent":"zero"},
    },
  },
  "core.v1.TypedLocalObjectReference": {
    required: ["kind","name"],
    atomic: true,
    fields: {
      "apiGroup": {"type":"string","proto":[1],"whenAbsent":"null"},
      "kind": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "name": {"type":"string","proto":[3],"whenAbsent":"zero"},
    },
  },
  "core.v1.TypedObjectReference": {
    required: ["kind","name"],
    fields: {
      "apiGroup": {"type":"string","proto":[1],"whenAbsent":"null"},
      "kind": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "name": {"type":"string","proto":[3],"whenAbsent":"zero"},
      "namespace": {"type":"string","proto":[4]},
    },
  },
  "core.v1.Volume": {
    required: ["name"],
    fields: {
      "awsElasticBlockStore": {"type":"ref","to":"core.v1.AWSElasticBlockStoreVolumeSource","proto":[2,4]},
      "azureDisk": {"type":"ref","to":"core.v1.AzureDiskVolumeSource","proto":[2,22]},
      "azureFile": {"type":"ref","to":"core.v1.AzureFileVolumeSource","proto":[2,18]},
      "cephfs": {"type":"ref","to":"core.v1.CephFSVolumeSource","proto":[2,14]},
      "cinder": {"type":"ref","to":"core.v1.CinderVolumeSource","proto":[2,13]},
      "configMap": {"type":"ref","to":"core.v1.ConfigMapVolumeSource","proto":[2,19]},
      "csi": {"type":"ref","to":"core.v1.CSIVolumeSource","proto":[2,28]},
      "downwardAPI": {"type":"ref","to":"core.v1.DownwardAPIVolumeSource","proto":[2,16]},
      "emptyDir": {"type":"ref","to":"core.v1.EmptyDirVolumeSource","proto":[2,2]},
      "ephemeral": {"type":"ref","to":"core.v1.EphemeralVolumeSource","proto":[2,29]},
      "fc": {"type":"ref","to":"core.v1.FCVolumeSource","proto":[2,17]},
      "flexVolume": {"type":"ref","to":"core.v1.FlexVolumeSource","proto":[2,12]},
      "flocker": {"type":"ref","to":"core.v1.FlockerVolumeSource","proto":[2,15]},
      "gcePersistentDisk": {"type":"ref","to":"core.v1.GCEPersistentDiskVolumeSource","proto":[2,3]},
      "gitRepo": {"type":"ref","to":"core.v1.GitRepoVolumeSource","proto":[2,5]},
      "glusterfs": {"type":"ref","to":"core.v1.GlusterfsVolumeSource","proto":[2,9]},
      "hostPath": {"type":"ref","to":"core.v1.HostPathVolumeSource","proto":[2,1]},
      "image": {"type":"ref","to":"core.v1.ImageVolumeSource","proto":[2,30]},
      "iscsi": {"type":"ref","to":"core.v1.ISCSIVolumeSource","proto":[2,8]},
      "name": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "nfs": {"type":"ref","to":"core.v1.NFSVolumeSource","proto":[2,7]},
      "persistentVolumeClaim": {"type":"ref","to":"core.v1.PersistentVolumeClaimVolumeSource","proto":[2,10]},
      "photonPersistentDisk": {"type":"ref","to":"core.v1.PhotonPersistentDiskVolumeSource","proto":[2,23]},
      "portworxVolume": {"type":"ref","to":"core.v1.PortworxVolumeSource","proto":[2,24]},
      "projected": {"type":"ref","to":"core.v1.ProjectedVolumeSource","proto":[2,26]},
      "quobyte": {"type":"ref","to":"core.v1.QuobyteVolumeSource","proto":[2,21]},
      "rbd": {"type":"ref","to":"core.v1.RBDVolumeSource","proto":[2,11]},
      "scaleIO": {"type":"ref","to":"core.v1.ScaleIOVolumeSource","proto":[2,25]},
      "secret": {"type":"ref","to":"core.v1.SecretVolumeSource","proto":[2,6]},
      "storageos": {"type":"ref","to":"core.v1.StorageOSVolumeSource","proto":[2,27]},
      "vsphereVolume": {"type":"ref","to":"core.v1.VsphereVirtualDiskVolumeSource","proto":[2,20]},
    },
  },
  "core.v1.VolumeDevice": {
    required: ["name","devicePath"],
    fields: {
      "devicePath": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "name": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.VolumeMount": {
    required: ["name","mountPath"],
    fields: {
      "mountPath": {"type":"string","proto":[3],"whenAbsent":"zero"},
      "mountPropagation": {"type":"string","proto":[5]},
      "name": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "readOnly": {"type":"boolean","proto":[2],"omitZero":true},
      "recursiveReadOnly": {"type":"string","proto":[7]},
      "subPath": {"type":"string","proto":[4],"omitZero":true},
      "subPathExpr": {"type":"string","proto":[6],"omitZero":true},
    },
  },
  "core.v1.VolumeMountStatus": {
    required: ["name","mountPath"],
    fields: {
      "mountPath": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "name": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "readOnly": {"type":"boolean","proto":[3],"omitZero":true},
      "recursiveReadOnly": {"type":"string","proto":[4]},
      "volumeStatus": {"type":"ref","to":"core.v1.VolumeStatus","proto":[5]},
    },
  },
  "core.v1.VolumeProjection": {
    fields: {
      "clusterTrustBundle": {"type":"ref","to":"core.v1.ClusterTrustBundleProjection","proto":[5]},
      "configMap": {"type":"ref","to":"core.v1.ConfigMapProjection","proto":[3]},
      "downwardAPI": {"type":"ref","to":"core.v1.DownwardAPIProjection","proto":[2]},
      "podCertificate": {"type":"ref","to":"core.v1.PodCertificateProjection","proto":[6]},
      "secret": {"type":"ref","to":"core.v1.SecretProjection","proto":[1]},
      "serviceAccountToken": {"type":"ref","to":"core.v1.ServiceAccountTokenProjection","proto":[4]},
    },
  },
  "core.v1.VolumeResourceRequirements": {
    fields: {
      "limits": {"type":"map","of":{"type":"quantity"},"proto":[1],"omitZero":true},
      "requests": {"type":"map","of":{"type":"quantity"},"proto":[2],"omitZero":true},
    },
  },
  "core.v1.VolumeStatus": {
    fields: {
      "image": {"type":"ref","to":"core.v1.ImageVolumeStatus","proto":[1]},
    },
  },
  "core.v1.VsphereVirtualDiskVolumeSource": {
    required: ["volumePath"],
    fields: {
      "fsType": {"type":"string","proto":[2],"omitZero":true},
      "storagePolicyID": {"type":"string","proto":[4],"omitZero":true},
      "storagePolicyName": {"type":"string","proto":[3],"omitZero":true},
      "volumePath": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.WeightedPodAffinityTerm": {
    required: ["weight","podAffinityTerm"],
    fields: {
      "podAffinityTerm": {"type":"ref","to":"core.v1.PodAffinityTerm","proto":[2],"whenAbsent":"zero"},
      "weight": {"type":"int32","proto":[1],"whenAbsent":"zero"},
    },
  },
  "core.v1.WindowsSecurityContextOptions": {
    fields: {
      "gmsaCredentialSpec": {"type":"string","proto":[2]},
      "gmsaCredentialSpecName": {"type":"string","proto":[1]},
      "hostProcess": {"type":"boolean","proto":[4]},
      "runAsUserName": {"type":"string","proto":[3]},
    },
  },
  "discovery.v1.Endpoint": {
    required: ["addresses"],
    fields: {
      "addresses": {"type":"array","of":{"type":"string"},"listType":"set","proto":[1],"whenAbsent":"null"},
      "conditions": {"type":"ref","to":"discovery.v1.EndpointConditions","proto":[2],"whenAbsent":"zero"},
      "deprecatedTopology": {"type":"map","of":{"type":"string"},"proto":[5],"omitZero":true},
      "hints": {"type":"ref","to":"discovery.v1.EndpointHints","proto":[8]},
      "hostname": {"type":"string","proto":[3]},
      "nodeName": {"type":"string","proto":[6]},
      "targetRef": {"type":"ref","to":"core.v1.ObjectReference","proto":[4]},
      "zone": {"type":"string","proto":[7]},
    },
  },
  "discovery.v1.EndpointConditions": {
    fields: {
      "ready": {"type":"boolean","proto":[1]},
      "serving": {"type":"boolean","proto":[2]},
      "terminating": {"type":"boolean","proto":[3]},
    },
  },
  "discovery.v1.EndpointHints": {
    fields: {
      "forNodes": {"type":"array","of":{"type":"ref","to":"discovery.v1.ForNode"},"listType":"atomic","proto":[2],"omitZero":true},
      "forZones": {"type":"array","of":{"type":"ref","to":"discovery.v1.ForZone"},"listType":"atomic","proto":[1],"omitZero":true},
    },
  },
  "discovery.v1.EndpointPort": {
    atomic: true,
    fields: {
      "appProtocol": {"type":"string","proto":[4]},
      "name": {"type":"string","proto":[1]},
      "port": {"type":"int32","proto":[3]},
      "protocol": {"type":"string","proto":[2]},
    },
  },
  "discovery.v1.EndpointSlice": {
    required: ["addressType"],
    fields: {
      "addressType": {"type":"string","proto":[4],"whenAbsent":"zero"},
      "apiVersion": {"type":"string"},
      "endpoints": {"type":"array","of":{"type":"ref","to":"discovery.v1.Endpoint"},"listType":"atomic","proto":[2],"whenAbsent":"null"},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "ports": {"type":"array","of":{"type":"ref","to":"discovery.v1.EndpointPort"},"listType":"atomic","proto":[3],"whenAbsent":"null"},
    },
  },
  "discovery.v1.ForNode": {
    required: ["name"],
    fields: {
      "name": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "discovery.v1.ForZone": {
    required: ["name"],
    fields: {
      "name": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "events.v1.Event": {
    required: ["eventTime"],
    fields: {
      "action": {"type":"string","proto":[6],"omitZero":true},
      "apiVersion": {"type":"string"},
      "deprecatedCount": {"type":"int32","proto":[15],"omitZero":true},
      "deprecatedFirstTimestamp": {"type":"time","proto":[13],"whenAbsent":"null"},
      "deprecatedLastTimestamp": {"type":"time","proto":[14],"whenAbsent":"null"},
      "deprecatedSource": {"type":"ref","to":"core.v1.EventSource","proto":[12],"whenAbsent":"zero"},
      "eventTime": {"type":"microTime","proto":[2],"whenAbsent":"null"},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "note": {"type":"string","proto":[10],"omitZero":true},
      "reason": {"type":"string","proto":[7],"omitZero":true},
      "regarding": {"type":"ref","to":"core.v1.ObjectReference","proto":[8],"whenAbsent":"zero"},
      "related": {"type":"ref","to":"core.v1.ObjectReference","proto":[9]},
      "reportingController": {"type":"string","proto":[4],"omitZero":true},
      "reportingInstance": {"type":"string","proto":[5],"omitZero":true},
      "series": {"type":"ref","to":"events.v1.EventSeries","proto":[3]},
      "type": {"type":"string","proto":[11],"omitZero":true},
    },
  },
  "events.v1.EventSeries": {
    required: ["count","lastObservedTime"],
    fields: {
      "count": {"type":"int32","proto":[1],"whenAbsent":"zero"},
      "lastObservedTime": {"type":"microTime","proto":[2],"whenAbsent":"null"},
    },
  },
  "meta.v1.Condition": {
    required: ["type","status","lastTransitionTime","reason","message"],
    fields: {
      "lastTransitionTime": {"type":"time","proto":[4],"whenAbsent":"null"},
      "message": {"type":"string","proto":[6],"whenAbsent":"zero"},
      "observedGeneration": {"type":"int64","proto":[3],"omitZero":true},
      "reason": {"type":"string","proto":[5],"whenAbsent":"zero"},
      "status": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "type": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "meta.v1.DeleteOptions": {
    fields: {
      "apiVersion": {"type":"string","omitZero":true},
      "dryRun": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[5],"omitZero":true},
      "gracePeriodSeconds": {"type":"int64","proto":[1]},
      "ignoreStoreReadErrorWithClusterBreakingPotential": {"type":"boolean","proto":[6]},
      "kind": {"type":"string","omitZero":true},
      "orphanDependents": {"type":"boolean","proto":[3]},
      "preconditions": {"type":"ref","to":"meta.v1.Preconditions","proto":[2]},
      "propagationPolicy": {"type":"string","proto":[4]},
    },
  },
  "meta.v1.FieldSelectorRequirement": {
    required: ["key","operator"],
    fields: {
      "key": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "operator": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "values": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[3],"omitZero":true},
    },
  },
  "meta.v1.LabelSelector": {
    atomic: true,
    fields: {
      "matchExpressions": {"type":"array","of":{"type":"ref","to":"meta.v1.LabelSelectorRequirement"},"listType":"atomic","proto":[2],"omitZero":true},
      "matchLabels": {"type":"map","of":{"type":"string"},"proto":[1],"omitZero":true},
    },
  },
  "meta.v1.LabelSelectorRequirement": {
    required: ["key","operator"],
    fields: {
      "key": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "operator": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "values": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[3],"omitZero":true},
    },
  },
  "meta.v1.ListMeta": {
    fields: {
      "continue": {"type":"string","proto":[3],"omitZero":true},
      "remainingItemCount": {"type":"int64","proto":[4]},
      "resourceVersion": {"type":"string","proto":[2],"omitZero":true},
      "selfLink": {"type":"string","proto":[1],"omitZero":true},
      "shardInfo": {"type":"ref","to":"meta.v1.ShardInfo","proto":[5]},
    },
  },
  "meta.v1.ManagedFieldsEntry": {
    fields: {
      "apiVersion": {"type":"string","proto":[3],"omitZero":true},
      "fieldsType": {"type":"string","proto":[6],"omitZero":true},
      "fieldsV1": {"type":"json","proto":[7]},
      "manager": {"type":"string","proto":[1],"omitZero":true},
      "operation": {"type":"string","proto":[2],"omitZero":true},
      "subresource": {"type":"string","proto":[8],"omitZero":true},
      "time": {"type":"time","proto":[4]},
    },
  },
  "meta.v1.ObjectMeta": {
    fields: {
      "annotations": {"type":"map","of":{"type":"string"},"proto":[12],"omitZero":true},
      "creationTimestamp": {"type":"time","proto":[8]},
      "deletionGracePeriodSeconds": {"type":"int64","proto":[10]},
      "deletionTimestamp": {"type":"time","proto":[9]},
      "finalizers": {"type":"array","of":{"type":"string"},"listType":"set","patchStrategy":["merge"],"proto":[14],"omitZero":true},
      "generateName": {"type":"string","proto":[2],"omitZero":true},
      "generation": {"type":"int64","proto":[7],"omitZero":true},
      "labels": {"type":"map","of":{"type":"string"},"proto":[11],"omitZero":true},
      "managedFields": {"type":"array","of":{"type":"ref","to":"meta.v1.ManagedFieldsEntry"},"listType":"atomic","proto":[17]},
      "name": {"type":"string","proto":[1],"omitZero":true},
      "namespace": {"type":"string","proto":[3],"omitZero":true},
      "ownerReferences": {"type":"array","of":{"type":"ref","to":"meta.v1.OwnerReference"},"listType":"map","mapKeys":["uid"],"mergeKey":"uid","patchStrategy":["merge"],"proto":[13],"omitZero":true},
      "resourceVersion": {"type":"string","proto":[6],"omitZero":true},
      "selfLink": {"type":"string","proto":[4],"omitZero":true},
      "uid": {"type":"string","proto":[5],"omitZero":true},
    },
  },
  "meta.v1.OwnerReference": {
    required: ["apiVersion","kind","name","uid"],
    atomic: true,
    fields: {
      "apiVersion": {"type":"string","proto":[5],"whenAbsent":"zero"},
      "blockOwnerDeletion": {"type":"boolean","proto":[7]},
      "controller": {"type":"boolean","proto":[6]},
      "kind": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "name": {"type":"string","proto":[3],"whenAbsent":"zero"},
      "uid": {"type":"string","proto":[4],"whenAbsent":"zero"},
    },
  },
  "meta.v1.Preconditions": {
    fields: {
      "resourceVersion": {"type":"string","proto":[2]},
      "uid": {"type":"string","proto":[1]},
    },
  },
  "meta.v1.ShardInfo": {
    required: ["selector"],
    fields: {
      "selector": {"type":"string","proto":[1],"whenAbsent":"zero"},
    },
  },
  "meta.v1.Status": {
    fields: {
      "apiVersion": {"type":"string","omitZero":true},
      "code": {"type":"int32","proto":[6],"omitZero":true},
      "details": {"type":"ref","to":"meta.v1.StatusDetails","proto":[5]},
      "kind": {"type":"string","omitZero":true},
      "message": {"type":"string","proto":[3],"omitZero":true},
      "metadata": {"type":"ref","to":"meta.v1.ListMeta","proto":[1],"whenAbsent":"zero"},
      "reason": {"type":"string","proto":[4],"omitZero":true},
      "status": {"type":"string","proto":[2],"omitZero":true},
    },
  },
  "meta.v1.StatusCause": {
    fields: {
      "field": {"type":"string","proto":[3],"omitZero":true},
      "message": {"type":"string","proto":[2],"omitZero":true},
      "reason": {"type":"string","proto":[1],"omitZero":true},
    },
  },
  "meta.v1.StatusDetails": {
    fields: {
      "causes": {"type":"array","of":{"type":"ref","to":"meta.v1.StatusCause"},"listType":"atomic","proto":[4],"omitZero":true},
      "group": {"type":"string","proto":[2],"omitZero":true},
      "kind": {"type":"string","proto":[3],"omitZero":true},
      "name": {"type":"string","proto":[1],"omitZero":true},
      "retryAfterSeconds": {"type":"int32","proto":[5],"omitZero":true},
      "uid": {"type":"string","proto":[6],"omitZero":true},
    },
  },
  "networking.v1.HTTPIngressPath": {
    required: ["pathType","backend"],
    fields: {
      "backend": {"type":"ref","to":"networking.v1.IngressBackend","proto":[2],"whenAbsent":"zero"},
      "path": {"type":"string","proto":[1],"omitZero":true},
      "pathType": {"type":"string","proto":[3],"whenAbsent":"null"},
    },
  },
  "networking.v1.HTTPIngressRuleValue": {
    required: ["paths"],
    fields: {
      "paths": {"type":"array","of":{"type":"ref","to":"networking.v1.HTTPIngressPath"},"listType":"atomic","proto":[1],"whenAbsent":"null"},
    },
  },
  "networking.v1.Ingress": {
    fields: {
      "apiVersion": {"type":"string"},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "spec": {"type":"ref","to":"networking.v1.IngressSpec","proto":[2],"whenAbsent":"zero"},
      "status": {"type":"ref","to":"networking.v1.IngressStatus","proto":[3],"whenAbsent":"zero"},
    },
  },
  "networking.v1.IngressBackend": {
    fields: {
      "resource": {"type":"ref","to":"core.v1.TypedLocalObjectReference","proto":[3]},
      "service": {"type":"ref","to":"networking.v1.IngressServiceBackend","proto":[4]},
    },
  },
  "networking.v1.IngressClass": {
    fields: {
      "apiVersion": {"type":"string"},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "spec": {"type":"ref","to":"networking.v1.IngressClassSpec","proto":[2],"whenAbsent":"zero"},
    },
  },
  "networking.v1.IngressClassParametersReference": {
    required: ["kind","name"],
    fields: {
      "apiGroup": {"type":"string","proto":[1]},
      "kind": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "name": {"type":"string","proto":[3],"whenAbsent":"zero"},
      "namespace": {"type":"string","proto":[5]},
      "scope": {"type":"string","proto":[4],"whenAbsent":"null"},
    },
  },
  "networking.v1.IngressClassSpec": {
    fields: {
      "controller": {"type":"string","proto":[1],"omitZero":true},
      "parameters": {"type":"ref","to":"networking.v1.IngressClassParametersReference","proto":[2]},
    },
  },
  "networking.v1.IngressLoadBalancerIngress": {
    fields: {
      "hostname": {"type":"string","proto":[2],"omitZero":true},
      "ip": {"type":"string","proto":[1],"omitZero":true},
      "ports": {"type":"array","of":{"type":"ref","to":"networking.v1.IngressPortStatus"},"listType":"atomic","proto":[4],"omitZero":true},
    },
  },
  "networking.v1.IngressLoadBalancerStatus": {
    fields: {
      "ingress": {"type":"array","of":{"type":"ref","to":"networking.v1.IngressLoadBalancerIngress"},"listType":"atomic","proto":[1],"omitZero":true},
    },
  },
  "networking.v1.IngressPortStatus": {
    required: ["port","protocol"],
    fields: {
      "error": {"type":"string","proto":[3]},
      "port": {"type":"int32","proto":[1],"whenAbsent":"zero"},
      "protocol": {"type":"string","proto":[2],"whenAbsent":"zero"},
    },
  },
  "networking.v1.IngressRule": {
    fields: {
      "host": {"type":"string","proto":[1],"omitZero":true},
      "http": {"type":"ref","to":"networking.v1.HTTPIngressRuleValue","proto":[2,1]},
    },
  },
  "networking.v1.IngressServiceBackend": {
    required: ["name"],
    fields: {
      "name": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "port": {"type":"ref","to":"networking.v1.ServiceBackendPort","proto":[2],"whenAbsent":"zero"},
    },
  },
  "networking.v1.IngressSpec": {
    fields: {
      "defaultBackend": {"type":"ref","to":"networking.v1.IngressBackend","proto":[1]},
      "ingressClassName": {"type":"string","proto":[4]},
      "rules": {"type":"array","of":{"type":"ref","to":"networking.v1.IngressRule"},"listType":"atomic","proto":[3],"omitZero":true},
      "tls": {"type":"array","of":{"type":"ref","to":"networking.v1.IngressTLS"},"listType":"atomic","proto":[2],"omitZero":true},
    },
  },
  "networking.v1.IngressStatus": {
    fields: {
      "loadBalancer": {"type":"ref","to":"networking.v1.IngressLoadBalancerStatus","proto":[1],"whenAbsent":"zero"},
    },
  },
  "networking.v1.IngressTLS": {
    fields: {
      "hosts": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[1],"omitZero":true},
      "secretName": {"type":"string","proto":[2],"omitZero":true},
    },
  },
  "networking.v1.ServiceBackendPort": {
    atomic: true,
    fields: {
      "name": {"type":"string","proto":[1],"omitZero":true},
      "number": {"type":"int32","proto":[2],"omitZero":true},
    },
  },
  "policy.v1.Eviction": {
    fields: {
      "apiVersion": {"type":"string"},
      "deleteOptions": {"type":"ref","to":"meta.v1.DeleteOptions","proto":[2]},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
    },
  },
  "policy.v1.PodDisruptionBudget": {
    fields: {
      "apiVersion": {"type":"string"},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "spec": {"type":"ref","to":"policy.v1.PodDisruptionBudgetSpec","proto":[2],"whenAbsent":"zero"},
      "status": {"type":"ref","to":"policy.v1.PodDisruptionBudgetStatus","proto":[3],"whenAbsent":"zero"},
    },
  },
  "policy.v1.PodDisruptionBudgetSpec": {
    fields: {
      "maxUnavailable": {"type":"intOrString","proto":[3]},
      "minAvailable": {"type":"intOrString","proto":[1]},
      "selector": {"type":"ref","to":"meta.v1.LabelSelector","patchStrategy":["replace"],"proto":[2]},
      "unhealthyPodEvictionPolicy": {"type":"string","proto":[4]},
    },
  },
  "policy.v1.PodDisruptionBudgetStatus": {
    fields: {
      "conditions": {"type":"array","of":{"type":"ref","to":"meta.v1.Condition"},"listType":"map","mapKeys":["type"],"mergeKey":"type","patchStrategy":["merge"],"proto":[7],"omitZero":true},
      "currentHealthy": {"type":"int32","proto":[4],"whenAbsent":"zero"},
      "desiredHealthy": {"type":"int32","proto":[5],"whenAbsent":"zero"},
      "disruptedPods": {"type":"map","of":{"type":"time"},"proto":[2],"omitZero":true},
      "disruptionsAllowed": {"type":"int32","proto":[3],"whenAbsent":"zero"},
      "expectedPods": {"type":"int32","proto":[6],"whenAbsent":"zero"},
      "observedGeneration": {"type":"int64","proto":[1],"omitZero":true},
    },
  },
  "rbac.v1.AggregationRule": {
    fields: {
      "clusterRoleSelectors": {"type":"array","of":{"type":"ref","to":"meta.v1.LabelSelector"},"listType":"atomic","proto":[1],"omitZero":true},
    },
  },
  "rbac.v1.ClusterRole": {
    fields: {
      "aggregationRule": {"type":"ref","to":"rbac.v1.AggregationRule","proto":[3]},
      "apiVersion": {"type":"string"},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "rules": {"type":"array","of":{"type":"ref","to":"rbac.v1.PolicyRule"},"listType":"atomic","proto":[2],"whenAbsent":"null"},
    },
  },
  "rbac.v1.ClusterRoleBinding": {
    required: ["roleRef"],
    fields: {
      "apiVersion": {"type":"string"},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "roleRef": {"type":"ref","to":"rbac.v1.RoleRef","proto":[3],"whenAbsent":"zero"},
      "subjects": {"type":"array","of":{"type":"ref","to":"rbac.v1.Subject"},"listType":"atomic","proto":[2],"omitZero":true},
    },
  },
  "rbac.v1.PolicyRule": {
    required: ["verbs"],
    fields: {
      "apiGroups": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[2],"omitZero":true},
      "nonResourceURLs": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[5],"omitZero":true},
      "resourceNames": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[4],"omitZero":true},
      "resources": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[3],"omitZero":true},
      "verbs": {"type":"array","of":{"type":"string"},"listType":"atomic","proto":[1],"whenAbsent":"null"},
    },
  },
  "rbac.v1.Role": {
    fields: {
      "apiVersion": {"type":"string"},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "rules": {"type":"array","of":{"type":"ref","to":"rbac.v1.PolicyRule"},"listType":"atomic","proto":[2],"whenAbsent":"null"},
    },
  },
  "rbac.v1.RoleBinding": {
    required: ["roleRef"],
    fields: {
      "apiVersion": {"type":"string"},
      "kind": {"type":"string"},
      "metadata": {"type":"ref","to":"meta.v1.ObjectMeta","proto":[1],"whenAbsent":"zero"},
      "roleRef": {"type":"ref","to":"rbac.v1.RoleRef","proto":[3],"whenAbsent":"zero"},
      "subjects": {"type":"array","of":{"type":"ref","to":"rbac.v1.Subject"},"listType":"atomic","proto":[2],"omitZero":true},
    },
  },
  "rbac.v1.RoleRef": {
    required: ["kind","name"],
    atomic: true,
    fields: {
      "apiGroup": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "kind": {"type":"string","proto":[2],"whenAbsent":"zero"},
      "name": {"type":"string","proto":[3],"whenAbsent":"zero"},
    },
  },
  "rbac.v1.Subject": {
    required: ["kind","name"],
    atomic: true,
    fields: {
      "apiGroup": {"type":"string","proto":[2],"omitZero":true},
      "kind": {"type":"string","proto":[1],"whenAbsent":"zero"},
      "name": {"type":"string","proto":[3],"whenAbsent":"zero"},
      "namespace": {"type":"string","proto":[4],"omitZero":true},
    },
  },
};
