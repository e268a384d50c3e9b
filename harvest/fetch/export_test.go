package fetch

import (
	"net/url"
	"time"
)

// TryRobots parses rules, checks an address against them and returns their delay.
func TryRobots(text []byte, u *url.URL) time.Duration {
	r := parseRobots(text, "concordat")
	r.allows(u)
	return r.delay
}
