//go:build unix

package instance

import (
	"fmt"
	"syscall"

	"concordat"
)

// FreeSpace returns the number of bytes available to this process on the disk of dir, and the size of that disk.
func FreeSpace(dir string) (free, all int64, err error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), int64(st.Blocks) * int64(st.Bsize), nil
}

// Descriptors returns the maximum number of open files and connections of the process. Go raises the soft limit to the hard limit at
// startup.
func Descriptors() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 1024 // the minimum on common systems
	}
	return int(min(l.Cur, 1<<30))
}

// CheckDisk returns an error that wraps concordat.ErrDiskFull if the site's disk has less free space than the configured low-water mark.
func (o *Instance) CheckDisk() error {
	left, _, err := FreeSpace(o.Dir)
	if err != nil {
		return err
	}
	if left < o.Live.Now().Serve.LowWater {
		return fmt.Errorf("%w: %d MiB left, but %d MiB must stay free", concordat.ErrDiskFull, left>>20, o.Live.Now().Serve.LowWater>>20)
	}
	return nil
}
