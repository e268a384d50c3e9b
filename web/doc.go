// Package web is the site as people see it in a browser: they sign in, submit documents,
// watch the checks, and read reports. What happens to a document is not here (package site), nor what a report says (package
// report), nor the words of the pages (package web/message). Open web.go first. Handlers are methods of a type by subject:
// checkPages, reportPages, batchPages, libraryPages, accountPages and adminPages. Each holds the Web, which has what all of them
// use: signing in, who may see what, quotas, errors and the audit. Package web/api adds the API and package web/platforms the pages for
// learning platforms, over the exported methods of these types.
//
// Start from New, which returns a handler. Pages are made by the server and work without JavaScript;
// a little of it shows progress as it happens. Nothing is loaded from other servers, which a
// Content-Security-Policy enforces. Every page but signing in needs an account; submitters see only their own
// checks.
package web
