// Package report turns findings into a report by rules. Packages align and site find the matches; report/html and report/pdf render the
// report. Open report.go for the terms, then build.go.
//
// [Findings] contain everything a check found and are stored; [Rules] determine what counts; [Build] combines them into a [Report]. When
// a rule changes, Build runs again without a new search. The package is pure: the same findings and rules yield the same report,
// regardless of the order in which passages were found.
//
// A report claims only what was compared; alongside its findings, it lists what was not compared.
package report
