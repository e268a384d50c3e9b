// Package pages has what the pages of every subject share: the visitor, the roles that may open a page, forms, and the names of people,
// sites and libraries. Open frame.go first. Each folder below has the pages of one subject: its handlers, and the operations that the API
// offers too. A subject sees the rest of the site through Frame and through its own options; package web implements Frame, draws what is
// around each page, and has the templates.
package pages
