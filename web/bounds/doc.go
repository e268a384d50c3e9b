// Package bounds limits the cost of requests to the API and how much of a request an answer repeats. It covers JSON bodies, cursors of
// lists, and problem descriptions. It is independent of the operations. Start with body.go.
package bounds
