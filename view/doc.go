// Package view has one type for each record in the form that programs get. The lines of --json, the API and everything made from them use
// these types, so that a field has one name and a column is added in one place. Field tags are JSON names and descriptions in the API's
// document. Open alert.go for a complete example. Package web and the commands make pages and texts for people from the records themselves.
package view
