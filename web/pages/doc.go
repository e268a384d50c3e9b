// Package pages contains what the pages of all subjects share: the visitor, the roles that can open a page, forms, and the names of
// people, sites and libraries. Start with frame.go. Each subfolder contains the pages of one subject: the handlers, and the operations
// that the API shares with them. The pages of a subject reach the rest of the site through Frame and their own options; package web
// implements Frame, renders the layout around each page, and contains the templates.
package pages
