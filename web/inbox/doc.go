// Package inbox lets other programs ask for checks: it is an inbox of Linked Data Notifications in which requests for a review
// or an endorsement arrive as COAR Notify 1.0.1 describes them. Open inbox.go first: Receive takes a notification; Run fetches
// the text that it names, has it checked for the account of the sender's token, and sends answers to the sender's inbox.
//
// A sender is known by its token. It and its inbox must be below an address that the token lists; texts may be anywhere public.
// It learns whether its request was accepted, and the address of the check, but nothing from the report. The store records each
// step, so a process that ends loses nothing: each text is checked once, each answer is retried until it arrives or expires.
// Texts are fetched with the guards of harvesting (package harvest/fetch).
package inbox
