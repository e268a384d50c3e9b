// Package api is the site's HTTP interface for programs: the operations of the API, checked against the OpenAPI document that
// is made from them. The work of an operation is done elsewhere: it calls the same code in package web as the pages do. Open
// api.go first; api has the operations for checks, reports, batches and requests, adminAPI all others.
package api
