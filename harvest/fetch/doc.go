// Package fetch reads external addresses politely. It sends one request at a time to a host, pauses between requests as robots.txt and
// Retry-After demand, reads no more bytes than the caller accepts, and connects only to public networks unless others are allowed. Start
// from Client.Open.
package fetch
