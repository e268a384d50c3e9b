package instance

import (
	"errors"
	"os"
	"strconv"
)

// ErrRestart stops serve so that its service manager restarts it.
var ErrRestart = errors.New("stopped by concordat cluster restart; the service manager will start the server again")

// Supervised reports whether systemd started this process (systemd.exec(5), $SYSTEMD_EXEC_PID) or it is the first process of a container.
func Supervised() bool {
	return os.Getpid() == 1 || os.Getenv("SYSTEMD_EXEC_PID") == strconv.Itoa(os.Getpid())
}
