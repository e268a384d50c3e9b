//go:build unix

package store

import (
	"errors"
	"syscall"
)

// diskFull reports whether err says that there is no room.
func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
