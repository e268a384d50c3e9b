// Package client calls the HTTP interface of a Concordat site, as described in its OpenAPI document. It does not deal with pages or the
// inner workings of a site. Open client.go first, then checks.go.
//
// Start from New. Methods return when the site has answered. If the site refuses a request, the error is a *Problem, which errors.As
// finds. If the connection breaks or the site is busy, a request is repeated if that is safe. It is safe for reads and for requests with
// an Idempotency-Key, which the client generates itself. Lists are iterators that request the next page when needed; iteration ends with
// the first error.
//
// Verify verifies a request received by a webhook.
package client
