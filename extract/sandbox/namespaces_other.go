//go:build linux && (amd64 || arm64) && !cgo

package sandbox

func inNamespaces() bool { return false }
