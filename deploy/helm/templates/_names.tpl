{{- define "streamer.name" -}}
{{ contains "streamer" .Release.Name | ternary .Release.Name (printf "%s-streamer" .Release.Name) }}
{{- end }}

{{- /* The labels of all pods, as JSON; with a part, those of its pods. */}}
{{- define "streamer.labels" -}}
{{- $labels := dict "app.kubernetes.io/name" "streamer" "app.kubernetes.io/instance" .Release.Name }}
{{- with .part }}{{ $_ := set $labels "app.kubernetes.io/component" . }}{{ end }}
{{- toJson $labels }}
{{- end }}

{{- /* The parts: "gateway", and "worker" if it has Deployments of its own. */}}
{{- define "streamer.parts" -}}
{{ .Values.worker.enabled | ternary (list "gateway" "worker") (list "gateway") | toJson }}
{{- end }}

{{- define "streamer.nats" -}}
{{- if .Values.nats.enabled }}
{{- $servers := list }}
{{- range until (int .Values.nats.replicas) }}
{{- $servers = append $servers (printf "nats://streamer:$(STREAMER_PASSWORD)@%s-nats-%d.%s-nats:4222" $.Release.Name . $.Release.Name) }}
{{- end }}
{{- join "," $servers }}
{{- else }}
{{- required "externalNats.url: need the URLs of the NATS servers, or nats.enabled" .Values.externalNats.url }}
{{- end }}
{{- end }}
