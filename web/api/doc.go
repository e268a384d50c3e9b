// Package api is the site's HTTP interface for programs. It serves the API's operations and validates requests against the OpenAPI
// document generated from them. The operations are implemented in package web, in code that the pages share. Start with api.go; api
// serves checks, reports, batches and requests, and adminAPI serves everything else.
package api
