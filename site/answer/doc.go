// Package answer has what a site tells its partners: the answers to their questions, the outlines and passages that they
// ask for, the mirrors that are shipped to them, and the fingerprint sets of federation epochs from which all of it is
// answered.
//
// How messages travel is not here (package federation), nor what this site asks others (package ask). Start with answer.go,
// which follows one question, and policy.go, which has what a partner may be told. The files that answer.go calls
// (question.go, policy.go, epochs.go, variant.go, job.go and others) call each other in one direction and never back:
// a test of internal/layers holds that.
package answer
