package concordat

import "strings"

// batchPrefix begins the name of the library as which the documents of a batch are sources of one another.
const batchPrefix = "batch:"

// BatchLibrary names the place of a batch's documents where they are sources in one another's reports. It
// is no library of the site: nothing is kept under it once the batch is gone, and none can be made.
func BatchLibrary(id string) LibraryID { return LibraryID(batchPrefix + id) }

// Batch returns the identity of the batch if l is the place of its documents.
func (l LibraryID) Batch() (id string, ok bool) { return strings.CutPrefix(string(l), batchPrefix) }
