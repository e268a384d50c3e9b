// Package web joins the pages of all subjects. Documents are processed in package site, reports are generated in package report, and the
// pages' words are in package web/message. Open web.go first. Web provides the functions that all pages use: sign-in, access rights, errors
// and the audit. The pages of a subject are in a folder of web/pages. Package web/api adds the API and package web/platforms adds the pages
// for learning platforms; both use the exported methods of the subjects.
//
// Call New to get a handler. Pages are rendered on the server and work without JavaScript, which only adds live progress. Pages load
// nothing from other servers; a Content-Security-Policy enforces this. Every page except sign-in needs an account, and submitters see
// only their own checks.
package web
