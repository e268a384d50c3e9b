// Package xmltree parses XML written by other programs. It finds elements by their local names, within bounds, and tolerates some faults:
// control characters, bytes in an encoding other than the declared one, HTML entities, and undeclared prefixes. Start from Parse.
package xmltree
