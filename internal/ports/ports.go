// Package ports provides tests with loopback ports for programs that need to be told where to listen before they start. The ports remain
// free while a killed program is being restarted, because the system never assigns them by itself.
package ports

import (
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
)

// Ports come in blocks from first to end, below the ports that Linux (from 32,768) and other systems (from 49,152) assign when any port
// will do, including for client connections. While a block is in use, the package listens at its first port, so that no other process
// takes the block.
const first, end, block = 12_000, 32_000, 64

// Free returns n consecutive ports, fewer than 64, that belong to the caller until the test ends.
func Free(t testing.TB, n int) []int {
	t.Helper()
	ports, release, err := Take(n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return ports
}

// Take is like Free without a test; the ports belong to the caller until release is called.
func Take(n int) (ports []int, release func(), err error) {
	if n >= block {
		return nil, nil, fmt.Errorf("cannot reserve %d ports: at most %d are available", n, block-1)
	}
	const blocks = (end - first) / block
	for i := range blocks {
		from := first + (os.Getpid()+i)%blocks*block
		guard, err := listen(from)
		if err != nil {
			continue // another program uses the port
		}
		for p := from + 1; p <= from+n; p++ {
			var l net.Listener
			if l, err = listen(p); err != nil {
				break
			}
			err = errors.Join(err, l.Close())
			ports = append(ports, p)
		}
		if err == nil {
			return ports, func() { _ = guard.Close() }, nil
		}
		ports = nil
		_ = guard.Close()
	}
	return nil, nil, fmt.Errorf("cannot find %d consecutive free ports from %d to %d", n, first, end)
}

func listen(port int) (net.Listener, error) {
	return net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
}
