package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
)

// longestSocket is the length in bytes of a socket path that every system accepts.
const longestSocket = 100

// Listen listens on the socket at path, which only its owner can open; it removes a socket left behind by a killed process, so the caller
// must hold the folder's lock.
func Listen(path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var l net.Listener
	err := short(path, func(p string) (err error) {
		l, err = net.Listen("unix", p)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", path, err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // Close would otherwise remove the socket by its short name
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &listener{l, path}, nil
}

// listener removes its socket when closed.
type listener struct {
	net.Listener
	path string
}

func (l *listener) Close() error {
	err := l.Listener.Close()
	if rm := os.Remove(l.path); !errors.Is(rm, os.ErrNotExist) {
		err = errors.Join(err, rm)
	}
	return err
}

// Connect connects to the socket at path.
func Connect(ctx context.Context, path string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout}
	var c net.Conn
	err := short(path, func(p string) (err error) {
		c, err = d.DialContext(ctx, "unix", p)
		return err
	})
	return c, err
}

// short calls f with a name for path that is short enough for a socket; on Linux, a file can also be named through the descriptor of its
// open folder.
func short(path string, f func(string) error) error {
	if len(path) <= longestSocket || runtime.GOOS != "linux" {
		return f(path)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(f(fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path))), dir.Close())
}
