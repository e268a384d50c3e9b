package fetch

import (
	"net/url"
	"time"
)

// TryRobots parses rules, tries an address on them and returns their delay.
func TryRobots(text []byte, u *url.URL) time.Duration {
	r := parseRobots(text, "concordat")
	r.allows(u)
	return r.delay
}
