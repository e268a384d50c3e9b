// Package xmltree reads XML as other programs write it: elements by their local names, with bounds, and with tolerable faults:
// control characters, bytes in another encoding than the declared one, entities of HTML, undeclared prefixes. Start from Parse.
package xmltree
