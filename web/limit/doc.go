// Package limit limits the rate and concurrency of callers' actions. A Limiter counts calls in a window, a Throttle slows down password
// guessing, Streams bounds streams, a Line runs a few expensive operations at a time, a Listener bounds connections, and Server bounds
// the time of a request. The package is independent of accounts and pages. Start with limit.go.
package limit
