// Package webhook notifies other programs of events at a site: it sends each event, signed, to the addresses that subscribe to it, and
// repeats it until it has arrived or expires. The kinds of events are defined where they arise (package site). Open webhook.go first.
//
// Start from New; Run sends until its context ends. Events are kept in the store together with the change that caused them, so an event
// survives the end of the process: it is sent at least once, under one id, in no particular order. Requests follow the Standard Webhooks
// specification 1.0.0 (headers webhook-id, webhook-timestamp and webhook-signature); doc/api.md describes them.
//
// Addresses are chosen by users of the site and must not become a way into its network: connections go to public addresses only, whatever a
// name resolves to, and redirections are not followed.
package webhook
