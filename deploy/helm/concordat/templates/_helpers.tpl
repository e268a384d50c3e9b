{{- define "concordat.name" -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- end -}}
{{- define "concordat.labels" -}}
app.kubernetes.io/name: concordat
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
