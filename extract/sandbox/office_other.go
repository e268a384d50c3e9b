//go:build !linux || !(amd64 || arm64)

package sandbox

import "io"

func officeConfined() bool { return false }

func becomeOffice(io.Reader) error { return ErrUnconfined }
