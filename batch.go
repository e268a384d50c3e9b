package concordat

import "strings"

// batchPrefix begins the name of the library under which the documents of a batch appear as one another's sources.
const batchPrefix = "batch:"

// BatchLibrary returns the name of the library under which a batch's documents appear as sources in one another's reports. It is not a
// library of the site: nothing is kept under this name once the batch is gone, and no library can be created with it.
func BatchLibrary(id string) LibraryID { return LibraryID(batchPrefix + id) }

// Batch returns the identity of the batch if l was made by BatchLibrary.
func (l LibraryID) Batch() (id string, ok bool) { return strings.CutPrefix(string(l), batchPrefix) }
