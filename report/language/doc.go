// Package language contains the texts of pages and reports, in one file per language: en.json, zh-Hans.json and so on, named by BCP 47
// tag. It does not choose a language, and reads no files at run time. Read en.json first, then language.go.
//
// A file maps keys to texts. Texts of pages have dotted keys (login.name); en.json contains them in English. Texts of reports have their
// English wording, as it appears in the code, as their keys, so en.json omits them. Every other file contains both. doc/develop.md
// explains how to add a language; the tests of this package report what a new file lacks.
package language
