// Package view contains one type for each record, in the form for programs. The --json output, the API and everything generated from them
// use these types, so that a field has one name and a column is added in one place. Field tags contain JSON names, and descriptions for
// the OpenAPI document. Open alert.go for a complete example. Package web and the commands create pages and text for people from the
// records themselves.
package view
