// Package people manages the accounts of a site and what they may do: the links for choosing passwords, sessions, tokens of programs, and
// quotas. It is the one place for their rules (valid names, who may change whom, what a token may do, how much may be submitted), for
// pages, the API and commands alike. Each change and its audit entry form one transaction.
//
// Package web decides how people prove who they are (passwords, OpenID Connect providers, learning platforms), and which role may open
// which page or call.
//
// Start from [New] in people.go; account.go is about changes to accounts, token.go about tokens, session.go about sessions and passwords,
// join.go about links, identity.go about people identified by a provider, and quota.go about the limits on submissions.
package people
