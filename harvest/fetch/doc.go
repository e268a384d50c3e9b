// Package fetch reads external addresses politely: one request at a time to a host, with a pause between two, as robots.txt and
// Retry-After ask, never reading more bytes than the caller accepts, and only from public networks unless others are allowed.
// Start from Client.Open.
package fetch
