// Package message holds the words of the pages, by key and language, and the errors that people read in their language.
// The pages themselves are in package web; the words of reports are in package report. Open messages.go first;
// messages_*.go have the words of one group of pages each.
package message
