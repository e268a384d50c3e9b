package instance

import (
	"errors"
	"os"
	"strconv"
)

// ErrRestart ends serve so that its service manager starts it again.
var ErrRestart = errors.New("ended by cluster restart, to be started again by the service manager")

// Supervised reports whether this process was started by systemd (systemd.exec(5), $SYSTEMD_EXEC_PID) or is the first process
// of a container.
func Supervised() bool {
	return os.Getpid() == 1 || os.Getenv("SYSTEMD_EXEC_PID") == strconv.Itoa(os.Getpid())
}
