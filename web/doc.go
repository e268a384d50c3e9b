// Package web contains the pages on which people sign in, submit documents, follow checks and read reports. Documents are processed in
// package site, reports are made in package report, and the words of the pages are in package web/message. Open web.go first. Web provides
// the parts that all pages use: sign-in, access rights, quotas, errors and the audit. The pages of a subject are in a folder of web/pages,
// or are methods of a type here: checkPages, reportPages, batchPages, libraryPages, accountPages and adminPages. Package web/api adds the
// API, and package web/platforms the pages for learning platforms, through the exported methods of these types.
//
// Start from New, which returns a handler. Pages are made by the server and work without JavaScript, which is only used to show progress as
// it happens. Nothing is loaded from other servers; a Content-Security-Policy enforces this. Every page except sign-in needs an account,
// and submitters see only their own checks.
package web
