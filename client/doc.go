// Package client calls the HTTP interface of a Concordat site, as described in its OpenAPI document. It does not deal with pages or the
// inner workings of a site. Open client.go first, then checks.go.
//
// Start from New. Methods return when the site has answered; a refusal is a *Problem, which errors.As finds. If the connection breaks or
// the site is busy, a request is sent again if that is safe, as it is for reads and for requests with an Idempotency-Key, which the client
// generates itself. Lists are iterators that ask for the next page when it is needed; a range over one ends with the first error.
//
// Verify checks a request received by a webhook.
package client
