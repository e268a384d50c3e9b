// Package view has one shape for each record in the form that programs get: the lines of --json, the API and what is made of
// either are these types, so that a field has one name, and a column is added in one place. Field tags are JSON names
// and the words of the API's document. Open alert.go for a complete example. What people see is made by package web and by
// the commands, from the records.
package view
