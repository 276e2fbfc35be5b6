{{/* Parts that several templates share. Names of objects begin with the name of the release. */}}

{{- define "lockstep.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* Labels of every object: (dict "root" $ "part" "ingress"). */}}
{{- define "lockstep.labels" -}}
app: {{ .root.Release.Name }}-{{ .part }}
app.kubernetes.io/name: lockstep
app.kubernetes.io/component: {{ .part }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end -}}

{{/* A binding of a role to the account of a part: (dict "root" $ "kind" … "name" … "namespace" …
     "role" … "account" …). Without a namespace it is a ClusterRoleBinding of a ClusterRole. */}}
{{- define "lockstep.binding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ if .namespace }}RoleBinding{{ else }}ClusterRoleBinding{{ end }}
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "lockstep.labels" . | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ .role | default .name }}
subjects:
  - kind: ServiceAccount
    name: {{ .root.Release.Name }}-{{ .part }}
    namespace: {{ .root.Release.Namespace }}
{{- end -}}

{{/* The account of a part: (dict "root" $ "part" …). */}}
{{- define "lockstep.account" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .root.Release.Name }}-{{ .part }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "lockstep.labels" . | nindent 4 }}
{{- end -}}

{{/* Rules that several roles have. */}}
{{- define "lockstep.apiServersRole" -}}
# Addresses of the API servers, to change to another one if a watch becomes silent.
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .name }}
  namespace: default
  labels:
    {{- include "lockstep.labels" . | nindent 4 }}
rules:
  - apiGroups: [""]
    resources: [endpoints]
    resourceNames: [kubernetes]
    verbs: [get]
{{- end -}}

{{- define "lockstep.podSecurity" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  # Private keys and histories belong to this pod only.
  fsGroup: 10001
  seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "lockstep.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end -}}

{{/* Fields of a pod for scheduling: the values of a part. */}}
{{- define "lockstep.scheduling" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{- define "lockstep.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* Peers of the metrics port: (dict "from" …). */}}
{{- define "lockstep.metricsFrom" -}}
{{- if .from }}
{{- toYaml .from }}
{{- else -}}
- podSelector: {}
{{- end }}
{{- end -}}

{{/* A ServiceMonitor: (dict "root" $ "part" … "port" … "monitor" …). */}}
{{- define "lockstep.serviceMonitor" -}}
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: {{ .root.Release.Name }}-{{ .part }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "lockstep.labels" . | nindent 4 }}
    {{- with .monitor.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  selector:
    matchLabels:
      app: {{ .root.Release.Name }}-{{ .part }}
      lockstep.dev/metrics: "true"
  namespaceSelector:
    matchNames: [{{ .root.Release.Namespace }}]
  endpoints:
    - port: {{ .port }}
      interval: {{ .monitor.interval }}
{{- end -}}

{{/* The config file of the ingress as YAML: the settings of the user, and the fields that the chart
     sets because other objects depend on them. */}}
{{- define "lockstep.ingressConfig" -}}
{{- $ingress := .Values.ingress }}
{{- $clusters := $ingress.clusters }}
{{- $settings := deepCopy $ingress.settings }}
{{- $own := dict
  "class" $ingress.class
  "httpPort" $ingress.ports.http
  "httpsPort" $ingress.ports.https
  "statusPort" $ingress.ports.status
  "statusAddress" "0.0.0.0"
  "prefix" "/var/lib/lockstep"
  "replaceState" true
  "drainDelay" (printf "%ds" (int $ingress.drainDelaySeconds))
  "drainTimeout" (printf "%ds" (int $ingress.drainTimeoutSeconds)) }}
{{- if $ingress.publishAddresses }}
{{- $_ := set $own "publishAddresses" $ingress.publishAddresses }}
{{- $_ := set $own "deposeGhosts" $ingress.deposeGhosts }}
{{- end }}
{{- with $ingress.gatewayPorts.http }}{{ $_ := set $own "gatewayPorts" . }}{{ end }}
{{- with $ingress.gatewayPorts.https }}{{ $_ := set $own "gatewayHttpsPorts" . }}{{ end }}
{{- if $clusters.kubeconfigSecret }}
{{- $_ := set $own "kubeconfig" "/etc/lockstep-clusters/kubeconfig" }}
{{- if $ingress.publishAddresses }}
{{- $_ := set $own "lease" (printf "%s/lockstep-ingress-%s" .Release.Namespace $ingress.class) }}
{{- end }}
{{- with $clusters.contexts }}{{ $_ := set $own "contexts" . }}{{ end }}
{{- with $clusters.accessContext }}{{ $_ := set $own "accessContext" . }}{{ end }}
{{- else if or $clusters.contexts $clusters.accessContext }}
{{- fail "ingress.clusters.kubeconfigSecret is missing: contexts and accessContext are names in a kubeconfig" }}
{{- end }}
{{- toYaml (mergeOverwrite $settings $own) }}
{{- end -}}

{{/* Changes of these fields apply without a restart. */}}
{{- define "lockstep.restartHash" -}}
{{- $config := include "lockstep.ingressConfig" . | fromYaml -}}
{{- omit $config "followSlices" "spread" "unreachable" "unreachableAfter" "allowLocalNames" "readyRequiresFresh" "staleAfter" "logLevel" | toYaml | sha256sum -}}
{{- end -}}
