// Package harvest keeps libraries filled from where documents already are: repositories that speak OAI-PMH or ResourceSync, and
// folders. Open run.go: a Runner takes one source through a run, which lists what is new and what is gone, fetches texts, and has
// them taken into the library.
//
// A run can end at any moment. What it has read is in the store before it continues, records and resumption token in one
// transaction, and a text is noted as kept once the library has it; so the next run continues where this one was, and takes each
// record once. Nothing is fetched from networks that are not allowed, and never more than the options say.
//
// It does not schedule: the serving process asks Due. Extraction and the library are those of the caller, behind Intake.
package harvest
