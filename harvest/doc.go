// Package harvest fills libraries from places that already have documents: repositories that support OAI-PMH or ResourceSync, and folders.
// Open run.go: a Runner takes one source through a run, which lists what is new and what is gone, fetches texts, and adds them to the
// library.
//
// A run can end at any moment. What it has read is stored before it continues, records and resumption token in one transaction, and a text
// is recorded as kept once the library has it. The next run therefore continues where this one stopped and handles each record once.
// Nothing is fetched from networks that are not allowed, nor more than the options permit.
//
// It does not schedule: the serving process asks Due. The caller provides extraction and the library, behind Intake.
package harvest
