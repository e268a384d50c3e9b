// Package xmltree reads XML as other programs write it: elements by their local names, with bounds, and tolerating some faults:
// control characters, bytes in an encoding other than the declared one, HTML entities, undeclared prefixes. Start from Parse.
package xmltree
