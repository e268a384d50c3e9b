// Package report turns findings into a report by rules. Packages align and site find matches; report/html and report/pdf decide what a
// report looks like. Open report.go for the terms, then build.go.
//
// [Findings] hold everything a check found and are stored; [Rules] determine what counts; [Build] makes a [Report] of the two.
// When a rule changes, Build runs again, without any new search. The package is pure: the same findings and rules give the same
// report, whatever the order in which passages were found.
//
// A report never claims more than was compared: it lists what was not compared next to what was found.
package report
