// Package api is the site as programs see it by HTTP: the operations of the API, held to the OpenAPI document that it makes of
// them. What an operation does is not here: it calls what the pages call, in package web. Open api.go first; api has the calls about
// checks, reports, batches and requests, adminAPI the others.
package api
