// Package answer decides what a site discloses to its partners: answers to their questions, the outlines and passages that they
// request, the mirrors shipped to them, and the fingerprint sets of federation epochs, from which all of it is answered.
//
// Package federation transports messages, and package ask asks this site's own questions. Start with answer.go, which follows
// one question, and policy.go, which decides what a partner may learn. The files that answer.go calls (question.go,
// policy.go, epochs.go, variant.go, job.go and others) call each other in one direction only, as a test of internal/layers
// ensures.
package answer
