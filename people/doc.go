// Package people manages the accounts of a site and their rights: links for setting passwords, sessions, tokens of programs, and quotas.
// It alone implements their rules (valid names, who may change whom, what a token may do, how much may be submitted), for pages, the API
// and commands. Each change and its audit entry form one transaction.
//
// Package web decides how people prove their identity (passwords, OpenID Connect providers, learning platforms), and which role may open
// a page or use an API operation.
//
// Start from [New] in people.go. The other files are account.go for changes to accounts, token.go for tokens, session.go for sessions and
// passwords, join.go for links, identity.go for people identified by a provider, and quota.go for the limits on submissions.
package people
