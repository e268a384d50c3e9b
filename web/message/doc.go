// Package message explains in the reader's language why something was refused or went wrong: errors of the pages and the API, causes
// of tasks, and broken rules. The words of pages and reports are in report/language, one file per language, and the pages
// themselves in package web. Open error.go first, then cause.go and language.go.
package message
