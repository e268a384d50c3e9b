package fetch

import (
	"net/url"
	"time"
)

// TryRobots parses rules and returns their delay after checking an address against them.
func TryRobots(text []byte, u *url.URL) time.Duration {
	r := parseRobots(text, "concordat")
	r.allows(u)
	return r.delay
}
