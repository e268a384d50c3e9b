// Package webhook notifies other programs of what happened at a site: it sends each event to the addresses that want
// it, signed, and again until it has arrived or its time is up. Which events there are is said where they arise
// (package site). Open webhook.go first.
//
// Start from New; Run sends until its context ends. What is to be sent is kept in the store with what
// caused it, so an event survives the end of the process: it is sent at least once, under one id,
// in no particular order. What a receiver gets follows the Standard Webhooks specification 1.0.0
// (headers webhook-id, webhook-timestamp and webhook-signature); doc/api.md describes it.
//
// Addresses are chosen by people of the site and must not become a way into its network: connections
// go to public addresses only, whatever a name resolves to, and redirections are not followed.
package webhook
