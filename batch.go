package concordat

import "strings"

// batchPrefix is the prefix of the library name under which a batch's documents appear as sources.
const batchPrefix = "batch:"

// BatchLibrary returns the library name under which a batch's documents appear as sources in one another's reports. The site has no such
// library. Nothing is stored under this name after the batch is deleted, and no library can be created with it.
func BatchLibrary(id string) LibraryID { return LibraryID(batchPrefix + id) }

// Batch returns the ID of the batch if l was returned by BatchLibrary.
func (l LibraryID) Batch() (id string, ok bool) { return strings.CutPrefix(string(l), batchPrefix) }
