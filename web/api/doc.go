// Package api is the site's HTTP interface for programs: the operations of the API, checked against the OpenAPI document that is made from
// them. The operations themselves run in package web, in the code that pages use too. Open api.go first; api has the operations for checks,
// reports, batches and requests; adminAPI has all others.
package api
