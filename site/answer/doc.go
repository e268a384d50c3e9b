// Package answer decides what a site discloses to its partners: answers to their questions, the outlines and passages they request, and
// the mirrors they are sent. It maintains the fingerprint sets of federation epochs, on which all of these depend.
//
// Package federation transports messages; package ask asks this site's own questions. Start with answer.go, which follows one question
// from start to finish, and policy.go, which decides what a partner is allowed to learn. Calls between the files that answer.go uses
// (question.go, policy.go, epochs.go, variant.go, job.go and others) run in one direction only, which a test of internal/layers enforces.
package answer
