// Package report turns findings into a report by rules. Finding anything is not here (packages align and site), nor
// what a report looks like (report/html, report/pdf). Open report.go for the words, then build.go.
//
// [Findings] hold everything a check found and are kept; [Rules] say what of it counts; [Build]
// joins the two into a [Report]. A rule that changes later runs Build again and asks nobody. The
// package is pure: the same findings and rules give the same report, whatever the order in which
// passages were found.
//
// A report never says more than was asked: what was not compared is listed beside what was found.
package report
