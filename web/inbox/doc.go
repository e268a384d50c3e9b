// Package inbox lets other programs request checks. It implements a Linked Data Notifications inbox that receives requests for a review
// or an endorsement as described in COAR Notify 1.0.1. Start with inbox.go: Receive accepts a notification. Run fetches the text that the
// notification identifies, queues a check for the account of the sender's token, and sends answers to the sender's inbox.
//
// A sender is identified by its token. The addresses of the sender and its inbox must be below an address listed in the token; texts can
// be at any public address. The sender learns whether its request was accepted and the address of the check, but nothing from the report.
// The store records each step, so nothing is lost when a process ends. Each text is checked once, and each answer is retried until it is
// delivered or expires. Texts are fetched with the safeguards of package harvest/fetch.
package inbox
