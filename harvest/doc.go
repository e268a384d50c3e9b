// Package harvest fills libraries from existing collections of documents: repositories that support OAI-PMH or ResourceSync, and folders.
// Open run.go, where a Runner performs a run of one source, which lists new and removed records, fetches texts, and adds them to the
// library.
//
// A run can be interrupted at any time. Before it continues, it stores what it has read. It stores records and the resumption token in
// one transaction, and a text as soon as the library has it. The next run therefore continues at that point and handles each record once.
// Nothing is fetched from forbidden networks, and no more is fetched than the options permit.
//
// The package does not schedule runs; the serving process calls Due. The caller provides text extraction and the library through Intake.
package harvest
