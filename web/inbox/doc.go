// Package inbox lets other programs ask for checks: it is an inbox of Linked Data Notifications in which requests for a review or an
// endorsement arrive as COAR Notify 1.0.1 describes them. Open inbox.go first: Receive accepts a notification. Run fetches the text that it
// names, has it checked for the account of the sender's token, and sends answers to the sender's inbox.
//
// A sender is identified by its token. The addresses of the sender and of its inbox must be below an address that the token lists; texts
// may be at any public address. The sender learns whether its request was accepted, and the address of the check, but nothing from the
// report. The store records each step, so nothing is lost when a process ends: each text is checked once, and each answer is retried until
// it arrives or expires. Texts are fetched with the guards of harvesting (package harvest/fetch).
package inbox
