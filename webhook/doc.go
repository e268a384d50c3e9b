// Package webhook notifies other programs of events at a site. It signs each event, sends it to the subscribed addresses, and repeats it
// until it arrives or expires. The kinds of events are defined where the events arise (package site). Open webhook.go first.
//
// Start from New; Run sends until its context ends. Events are stored together with the change that caused them, so they survive the end
// of the process. Each event is sent at least once, under one ID, in no particular order. Requests follow the Standard Webhooks
// specification 1.0.0 (headers webhook-id, webhook-timestamp and webhook-signature); doc/api.md describes them.
//
// Addresses are chosen by users and must not give access to the site's network, so connections go only to public addresses, whatever a
// name resolves to, and redirections are not followed.
package webhook
