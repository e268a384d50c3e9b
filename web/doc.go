// Package web is the site as people see it in a browser: they sign in, submit documents, follow the checks, and read reports.
// What happens to a document is in package site, what a report says in package report, and the words of the pages in package
// web/message. Open web.go first. Handlers are methods of a type by subject: checkPages, reportPages, batchPages, libraryPages,
// accountPages and adminPages. Each holds the Web, which has what all of them use: sign-in, access rights, quotas, errors and
// the audit. Package web/api adds the API, and package web/platforms the pages for learning platforms, through the exported
// methods of these types.
//
// Start from New, which returns a handler. Pages are made by the server and work without JavaScript, which only shows progress
// as it happens. Nothing is loaded from other servers; a Content-Security-Policy enforces this. Every page except sign-in needs
// an account, and submitters see only their own checks.
package web
