// Package limit bounds how often and how many at a time callers do something: a Limiter counts calls in a window, a Throttle
// slows down password guessing, Streams bounds streams, a Line lets a few expensive operations run at a time, a Listener bounds
// connections, and Server the time of a request. It knows nothing about accounts or pages. Open limit.go first.
package limit
