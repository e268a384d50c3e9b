//go:build !unix

package screen_test

import "time"

var begun = time.Now()

// cpu returns the elapsed time, because this system does not report a process's CPU time.
func cpu() time.Duration { return time.Since(begun) }
