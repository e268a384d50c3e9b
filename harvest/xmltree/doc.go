// Package xmltree reads XML as programs of others write it: elements by their local names, with bounds, and with faults that a
// reader can live with: control characters, bytes in another encoding than the declared one, entities of HTML, prefixes that
// nobody declared. Start from Parse.
package xmltree
