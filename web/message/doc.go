// Package message explains in the reader's language why something was refused or failed: errors on pages and in the API, causes of tasks,
// and broken rules. The words of pages and reports are in report/language, one file per language, and the pages are in package web. Start
// with error.go, then read cause.go and language.go.
package message
