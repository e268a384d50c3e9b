package instance

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// Listen listens at an address. If it fails, the error includes advice.
func Listen(key, flag, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err == nil {
		return l, nil
	}
	how := fmt.Sprintf("set %s in %s", key, ConfigName)
	if flag != "" {
		how = fmt.Sprintf("choose a different address with %s, or %s", flag, how)
	}
	_, port, _ := net.SplitHostPort(address) // the form was checked with the configuration
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s: address %s is already in use, possibly by another site: stop the program that uses it, or %s (port 0 picks a free port)",
			key, address, how)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("%s: no permission to listen on port %s: choose a port above 1023; %s", key, port, how)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("%s: this machine has no address %s: %s", key, address, how)
	}
	return nil, fmt.Errorf("%s: %w; %s", key, err, how)
}
