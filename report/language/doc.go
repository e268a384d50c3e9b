// Package language contains the words of pages and reports, in one file per language: en.json, zh-Hans.json and so on, each
// named by the BCP 47 tag of its language. It does not choose a language, and reads nothing while the program runs. Open
// en.json first, then language.go.
//
// A file maps keys to texts. The words of pages have keys with dots (login.name), and en.json has their English texts. The
// key of a word of a report is its English text, as in the code, so en.json does not list them. Every other file lists both.
// doc/develop.md says how to add a language; the tests of this package report what a new file lacks.
package language
