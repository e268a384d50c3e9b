//go:build !unix

package screen_test

import "time"

var begun = time.Now()

// cpu returns the time that has passed: this system does not tell a process's own.
func cpu() time.Duration { return time.Since(begun) }
