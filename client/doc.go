// Package client speaks the HTTP interface of a Concordat site, as its OpenAPI document describes it. Pages, accounts
// and everything else inside a site are not here. Open client.go first, then checks.go.
//
// Start from New. Methods return when the site has answered; what it refuses is a *Problem, to be
// found with errors.As. A request that met a broken connection or a busy site is sent again where
// that is safe: reading, and what carries an Idempotency-Key, which the client makes itself. Lists
// are iterators that ask for the next page when it is needed; a range over one ends with the first
// error.
//
// Verify checks what a webhook received.
package client
