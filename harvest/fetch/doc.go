// Package fetch reads addresses that come from outside, politely: one request at a time to a host, with a pause between two,
// as robots.txt and Retry-After want it, never more bytes than the caller takes, and never from a network that is not public,
// unless it is allowed. Start from Client.Open.
package fetch
